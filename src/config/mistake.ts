/** What was wrong with the configuration, as data and as text. Everything in it may be printed. */

export interface Mistake {
  /** Key of the option; for arguments that belong to none, `command line`. */
  readonly path: string;
  /** Where the value came from: a flag, one or more environment variables, `argument 3`, `default`; undefined: not given. */
  readonly source: string | undefined;
  /** The value in quotes, redacted where it is or may be a secret; undefined where there is none to show. */
  readonly value: string | undefined;
  /** What stands after the word "expected". */
  readonly expected: string;
}

/** The path of mistakes that belong to no option. */
export const COMMAND_LINE = 'command line';

/** One line: path, source, value, expectation. */
export function describeMistake(mistake: Mistake): string {
  const from = mistake.source === undefined ? ' is not set' : ` (${mistake.source})`;
  const is = mistake.value === undefined ? '' : ` is ${mistake.value}`;
  return `${mistake.path}${from}${is}: expected ${mistake.expected}`;
}
