/**
 * Reads a configuration file, parses it, substitutes environment variables, and checks it against the schema of the
 * OpenTelemetry declarative configuration. It does not interpret the values.
 */
import { readFileSync, statSync } from 'node:fs';
import { parseConfigFile } from '@opentelemetry/configuration';
import { printable } from '../../printable.ts';
import { systemErrorCode } from '../format/pem-file.ts';
import { quote } from '../format/redaction.ts';
import { CONFIG_FILE, type Mistake } from '../mistake.ts';
import { type FilePath, showPath } from './file-path.ts';
import { substitute } from './file-substitution.ts';
import { readYaml, type YamlText } from './yaml-document.ts';

export interface ConfigFile {
  /** Its path as given, safe to print. */
  readonly name: string;
  /** Its root, after substitution. */
  readonly data: unknown;
  /** Names of all variables that it refers to. */
  readonly variables: ReadonlySet<string>;
  /** Malformed references to variables. */
  readonly mistakes: readonly Mistake[];
  /** The complaint of OpenTelemetry's parser, which reports the first mistake only. */
  readonly objections: readonly Objection[];
  /** `otel.yaml:12`: the line of the deepest existing part of the path. */
  whereIs(path: FilePath): string;
  /** Variables that the scalar at a path refers to, without a value and without a default. */
  unsetAt(path: FilePath): readonly string[];
}

export interface Objection {
  readonly path: FilePath;
  readonly expected: string;
}

export type OpenedFile =
  | { readonly ok: true; readonly file: ConfigFile }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

const BYTES_MAX = 1024 * 1024;

const REFERENCE = `every \${ to begin \${NAME} or \${NAME:-default}; write $$ for a $`;

/**
 * Reads the file, with `${NAME}` from the environment of the process. After a syntax error nothing else is checked.
 * @param source the flag or variable that set the path
 */
export function openConfigFile(path: string, source: string): OpenedFile {
  const name = printable(path);
  const refuse = (expected: string): OpenedFile => ({
    ok: false,
    mistakes: [{ path: 'config', source, value: quote(path), expected }],
  });
  let text: string;
  try {
    const stat = statSync(path);
    // It is read twice, so it cannot be a pipe.
    if (!stat.isFile()) return refuse('the path of a file');
    if (stat.size > BYTES_MAX) return refuse(`a file of at most ${BYTES_MAX} bytes`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return refuse(`the path of a readable file (${systemErrorCode(error)})`);
  }
  const yaml = readYaml(text);
  if (yaml.mistakes.length === 0) return { ok: true, file: checkedFile(path, name, yaml) };
  const mistakes = yaml.mistakes.map(({ line, path: at, expected }) =>
    at === undefined
      ? aboutFile(`${name}:${line}`, `valid YAML: ${expected}`)
      : { path: showPath(at), source: `${name}:${line}`, value: undefined, expected },
  );
  return { ok: false, mistakes };
}

function checkedFile(path: string, name: string, yaml: YamlText): ConfigFile {
  const { variables, malformed, unset } = substitute(yaml.document);
  return {
    name,
    data: yaml.document.toJS(),
    variables,
    mistakes: malformed.map((node) => aboutFile(`${name}:${yaml.lineOfNode(node)}`, REFERENCE)),
    objections: malformed.length === 0 ? validate(path) : [],
    whereIs: (at) => `${name}:${yaml.lineOf(at)}`,
    unsetAt(at) {
      const scalar = yaml.scalarAt(at);
      return (scalar === undefined ? undefined : unset.get(scalar)) ?? [];
    },
  };
}

/** Runs OpenTelemetry's parser, which reports the first mistake only. */
function validate(path: string): readonly Objection[] {
  try {
    parseConfigFile(path);
    return [];
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const objections = message.split('\n').flatMap((line) => {
      // A JSON pointer, then the rule of the schema, which always starts with "must".
      const [, pointer, rule] = /(?:^|: | )((?:\/\S*)?) (must .*)$/.exec(line) ?? [];
      if (pointer === undefined || rule === undefined) return [];
      return [
        { path: fromPointer(pointer), expected: `a value valid by the OpenTelemetry schema: it ${rule}` },
      ];
    });
    // Any other message may quote the file, which may hold secrets.
    const unknown = { path: [], expected: 'a file that the OpenTelemetry parser accepts' };
    return objections.length > 0 ? objections : [unknown];
  }
}

function fromPointer(pointer: string): FilePath {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) =>
    /^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
}

function aboutFile(source: string, expected: string): Mistake {
  return { path: CONFIG_FILE, source, value: undefined, expected };
}
