/**
 * Substitutes environment variables (OpenTelemetry configuration data model), like `parseConfigFile`. Unlike it, this does not
 * stop at the first mistake, so that the rest of the file can be checked, and it lists unset variables.
 */
import { getStringFromEnv } from '@opentelemetry/core';
import { type Document, parse, Scalar, visit } from 'yaml';

const REFERENCE = /\$\{(?:env:)?([^}]+)\}/g;
const NAME_AND_DEFAULT = /^([a-zA-Z_][a-zA-Z0-9_]*)(?::-([^\n}]*))?$/;

/** Replaces the references in all values, never in keys. */
export function substitute(document: Document) {
  /** Names of all variables that the file refers to. */
  const variables = new Set<string>();
  /** Scalars with a malformed `${…}`, which stay unchanged. */
  const malformed: Scalar[] = [];
  /** By scalar: the variables that are unset or empty, and have no default in the reference. */
  const unset = new Map<Scalar, string[]>();
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string') return;
      let isMalformed = false;
      const replace = (_: string, inner: string): string => {
        const [matched, name = '', byDefault] = NAME_AND_DEFAULT.exec(inner) ?? [];
        const value = getStringFromEnv(name);
        if (matched === undefined) isMalformed = true;
        else variables.add(name);
        if (matched !== undefined && value === undefined && byDefault === undefined) {
          unset.set(node, [...(unset.get(node) ?? []), name]);
        }
        return value ?? byDefault ?? '';
      };
      const parts = node.value.split('$$').map((part) => part.replaceAll(REFERENCE, replace));
      const text = parts.join('$');
      if (isMalformed) malformed.push(node);
      else if (text !== node.value) node.value = node.type === Scalar.PLAIN ? retype(text) : text;
    },
  });
  return { variables, malformed, unset };
}

/** An unquoted scalar may become a number, a boolean or null, but not a map or a list. */
function retype(text: string): unknown {
  let value: unknown;
  try {
    value = parse(text, { version: '1.2' });
  } catch {
    return text;
  }
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? value : text;
}
