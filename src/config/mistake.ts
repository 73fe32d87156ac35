/** A mistake in the configuration, as data and as text. It contains no secrets. */
import { printable } from '../text/printable.ts';

export interface Mistake {
  /**
   * The key of the option, or the path in the configuration file; `command line` or `environment` for arguments and
   * variables that belong to no option.
   */
  readonly path: string;
  /**
   * The origin of the value: a flag, one or more environment variables, `argument 3`, or `file:line`; undefined if it
   * was not set.
   */
  readonly source?: string | undefined;
  /** The value in quotes, redacted if it may be a secret; undefined if there is nothing to show. */
  readonly value?: string | undefined;
  /** The text after the word "expected". */
  readonly expected: string;
}

/** The path of mistakes in a configuration file as a whole. */
export const CONFIG_FILE = 'configuration file';

/** One line: path, source, value, expectation. */
export function describeMistake(mistake: Mistake): string {
  const from = mistake.source === undefined ? ' is not set' : ` (${mistake.source})`;
  const is = mistake.value === undefined ? '' : ` is ${mistake.value}`;
  return printable(`${mistake.path}${from}${is}: expected ${mistake.expected}`);
}

/** The line of the configuration file with the mistake; 0 if it is elsewhere. */
export function lineOf({ source = '' }: Mistake): number {
  return Number(/:(\d+)$/.exec(source)?.[1] ?? 0);
}

/** Removes duplicates, and puts mistakes in the file last, in the order of its lines. */
export function inOrder(mistakes: readonly Mistake[]): readonly Mistake[] {
  const once = new Map(mistakes.map((mistake) => [describeMistake(mistake), mistake]));
  return [...once.values()].sort((a, b) => lineOf(a) - lineOf(b));
}
