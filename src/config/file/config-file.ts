/**
 * A configuration file as it is found: read, parsed, with the environment in it, and checked against the schema of the
 * OpenTelemetry declarative configuration. What its values mean is said elsewhere.
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
  /** As it was given, fit to be printed. */
  readonly name: string;
  /** Its root, with the environment in it. */
  readonly data: unknown;
  /** Names of the variables that it refers to, wherever. */
  readonly variables: ReadonlySet<string>;
  /** References to the environment that are malformed. */
  readonly mistakes: readonly Mistake[];
  /** What the standard's parser says against it, which tells the first mistake only. */
  readonly objections: readonly Objection[];
  /** `otel.yaml:12`, of the deepest part of the path that is there. */
  whereIs(path: FilePath): string;
  /** Variables that the scalar at a path refers to and that are not set; it gives no default for them either. */
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

const REFERENCE = `what begins with \${ to be \${NAME} or \${NAME:-default}; $$ stands for a $`;

/**
 * Reads the file and its `${NAME}` from the environment of the process. Where its syntax is wrong, nothing
 * else can be checked.
 * @param source the flag or the variable that gave the path
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
    // It is read twice, so it can be no pipe.
    if (!stat.isFile()) return refuse('the path of a file');
    if (stat.size > BYTES_MAX) return refuse(`a file of at most ${BYTES_MAX} bytes`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return refuse(`the path of a file that can be read (${systemErrorCode(error)})`);
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

/** What the standard's parser has against a file; it tells no more than its first mistake. */
function validate(path: string): readonly Objection[] {
  try {
    parseConfigFile(path);
    return [];
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    const objections = message.split('\n').flatMap((line) => {
      // The path is a JSON pointer, and what follows it begins so with every rule of a schema.
      const [, pointer, rule] = /(?:^|: | )((?:\/\S*)?) (must .*)$/.exec(line) ?? [];
      if (pointer === undefined || rule === undefined) return [];
      return [{ path: fromPointer(pointer), expected: `what the standard's schema says: it ${rule}` }];
    });
    // Anything else it says has pieces of the file in it.
    const unknown = { path: [], expected: "a file that the standard's parser takes" };
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
