/**
 * The environment in a configuration file (OpenTelemetry configuration data model, "Environment variable
 * substitution"): done to a document as `parseConfigFile` does it, so that the rest of a file that it refuses can be
 * checked too, and with an account of the variables that are not set.
 */
import { getStringFromEnv } from '@opentelemetry/core';
import { type Document, parse, Scalar, visit } from 'yaml';

/** What was done to a document. */
export interface Substitution {
  /** What there is to say of a scalar, if there is anything. */
  readonly told: ReadonlyMap<Scalar, Substituted>;
  /** Names of all variables that are referred to. */
  readonly variables: ReadonlySet<string>;
}

/** What stood in a scalar before. */
export interface Substituted {
  /** Variables that are not set, or empty, and have no default where they are used. */
  readonly unset: readonly string[];
  /** It has a `${…}` that is no reference; such a scalar is left as it was. */
  readonly malformed: boolean;
}

const REFERENCE = /\$\{(?:env:)?([^}]+)\}/g;
const NAME_AND_DEFAULT = /^([a-zA-Z_][a-zA-Z0-9_]*)(?::-([^\n}]*))?$/;

/** Replaces the references in all values, never in keys, and says of which there is something to say. */
export function substitute(document: Document): Substitution {
  const told = new Map<Scalar, Substituted>();
  const variables = new Set<string>();
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string') return;
      const { text, ...substituted } = substituteText(node.value, variables);
      if (substituted.malformed || substituted.unset.length > 0) told.set(node, substituted);
      if (substituted.malformed || text === node.value) return;
      node.value = node.type === Scalar.PLAIN ? retype(text) : text;
    },
  });
  return { told, variables };
}

function substituteText(source: string, variables: Set<string>): Substituted & { readonly text: string } {
  const unset: string[] = [];
  let malformed = false;
  const parts = source.split('$$').map((part) =>
    part.replaceAll(REFERENCE, (_, inner: string) => {
      const [matched, name = '', byDefault] = NAME_AND_DEFAULT.exec(inner) ?? [];
      if (matched === undefined) malformed = true;
      else variables.add(name);
      const value = getStringFromEnv(name);
      if (matched !== undefined && value === undefined && byDefault === undefined) unset.push(name);
      return value ?? byDefault ?? '';
    }),
  );
  return { text: parts.join('$'), unset, malformed };
}

/** A plain scalar may become a number, a boolean or null, and nothing else. */
function retype(text: string): unknown {
  let value: unknown;
  try {
    value = parse(text, { version: '1.2' });
  } catch {
    return text;
  }
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? value : text;
}
