/** What was wrong with the configuration, as data and as text. Nothing in it is secret. */
import { printable } from '../printable.ts';

export interface Mistake {
  /**
   * Key of the option, or path in the configuration file; of arguments and variables that belong to
   * no option, `command line` and `environment`.
   */
  readonly path: string;
  /**
   * Where the value came from: a flag, one or more environment variables, `argument 3`, `file:line`; undefined: not given.
   */
  readonly source: string | undefined;
  /** The value in quotes, redacted where it is or may be a secret; undefined where there is none to show. */
  readonly value: string | undefined;
  /** What stands after the word "expected". */
  readonly expected: string;
}

/** The path of mistakes that belong to no option. */
export const COMMAND_LINE = 'command line';

/** The path of mistakes that are about variables of no option. */
export const ENVIRONMENT = 'environment';

/** The path of mistakes that are about a configuration file as a whole. */
export const CONFIG_FILE = 'configuration file';

/** One line: path, source, value, expectation. */
export function describeMistake(mistake: Mistake): string {
  const from = mistake.source === undefined ? ' is not set' : ` (${mistake.source})`;
  const is = mistake.value === undefined ? '' : ` is ${mistake.value}`;
  return printable(`${mistake.path}${from}${is}: expected ${mistake.expected}`);
}

/** Whether it is about something in a configuration file. */
export function isInFile({ source = '' }: Mistake): boolean {
  return /:\d+$/.test(source);
}

/** Each once, and those of the file in the order of its lines, after the others. */
export function inOrder(mistakes: readonly Mistake[], fileName: string): readonly Mistake[] {
  const lineOf = ({ source = '' }: Mistake): number =>
    source.startsWith(`${fileName}:`) ? Number(source.slice(fileName.length + 1)) : 0;
  const once = new Map(mistakes.map((mistake) => [describeMistake(mistake), mistake]));
  return [...once.values()].sort((a, b) => lineOf(a) - lineOf(b));
}
