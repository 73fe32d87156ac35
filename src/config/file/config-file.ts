/**
 * Reads a configuration file, parses it, substitutes environment variables, and checks it against the schema of the
 * OpenTelemetry declarative configuration. It does not interpret the values.
 */
import { readFileSync, statSync } from 'node:fs';
import { parseConfigFile } from '@opentelemetry/configuration';
import { printable } from '../../text/printable.ts';
import { systemErrorCode } from '../format/pem-file.ts';
import { quote } from '../format/redaction.ts';
import { CONFIG_FILE, type Mistake } from '../mistake.ts';
import type { FilePath } from './file-path.ts';
import { substitute } from './file-substitution.ts';
import { FileValue } from './file-value.ts';
import { readYaml } from './yaml-document.ts';

export type ConfigFile = NonNullable<ReturnType<typeof openConfigFile>>;

const BYTES_MAX = 1024 * 1024;

const REFERENCE = `every \${ to begin \${NAME} or \${NAME:-default}; write $$ for a $`;

/**
 * Reads the file, with `${NAME}` from the environment of the process. After a syntax error, nothing else is checked.
 * @param source the flag or variable that set the path
 * @param mistakes collects the mistakes in the file
 * @returns undefined if the file cannot be read
 */
export function openConfigFile(path: string, source: string, mistakes: Mistake[]) {
  const name = printable(path);
  const refuse = (expected: string): undefined => {
    mistakes.push({ path: 'config', source, value: quote(path), expected });
  };
  let text: string;
  try {
    const stat = statSync(path);
    // A pipe is refused, because the file is read twice.
    if (!stat.isFile()) return refuse('the path of a file');
    if (stat.size > BYTES_MAX) return refuse(`a file of at most ${BYTES_MAX} bytes`);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return refuse(`the path of a readable file (${systemErrorCode(error)})`);
  }
  const { document, mistakes: syntax, lineOf } = readYaml(text);
  const complain = (line: number, expected: string): void => {
    mistakes.push({ path: CONFIG_FILE, source: `${name}:${line}`, expected });
  };
  for (const { line, expected } of syntax) complain(line, `valid YAML: ${expected}`);
  if (syntax.length > 0) return undefined;
  const { variables, malformed, unset } = substitute(document);
  const root = new FileValue({ name, document, unset, mistakes, lineOf });
  const before = mistakes.length;
  // A file without file_format is no configuration, and its keys may be secrets, so they are not reported.
  if (root.get('file_format') !== undefined) root.expectUniqueKeys();
  if (mistakes.length > before) return undefined;
  for (const node of malformed) complain(lineOf(node), REFERENCE);
  // `name` is safe to print; `root` is the whole file after substitution.
  return { name, root, variables, objections: malformed.length === 0 ? validate(path) : [] };
}

/** The mistakes that OpenTelemetry's parser reports; it may stop at the first one. */
function validate(path: string): readonly { readonly path: FilePath; readonly expected: string }[] {
  try {
    parseConfigFile(path);
    return [];
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    // Each mistake is a JSON pointer, then the rule of the schema, which always starts with "must".
    const rules = [...message.matchAll(/(?:^|: | )((?:\/\S*)?) (must .*)$/gm)];
    // Any other message may quote the file, which may hold secrets.
    if (rules.length === 0) return [{ path: [], expected: 'a file that the OpenTelemetry parser accepts' }];
    return rules.map(([, pointer = '', rule]) => ({
      path: pointer.split('/').slice(1).map(stepOf),
      expected: `a value valid by the OpenTelemetry schema: it ${rule}`,
    }));
  }
}

function stepOf(token: string): string | number {
  return /^\d+$/.test(token) ? Number(token) : token.replaceAll('~1', '/').replaceAll('~0', '~');
}
