/**
 * Prints everything that commands print apart from the log. Untrusted text can neither control the terminal nor forge
 * lines.
 */
import { describeMistake, lineOf, type Mistake } from '../config/mistake.ts';
import type { OptionCommand } from '../config/options.ts';
import { printable, printableLines } from '../text/printable.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';

/** @param text its line breaks stay, so untrusted parts of it must contain none */
export function print(stream: NodeJS.WritableStream, text: string): void {
  stream.write(printableLines(text));
}

/** Moves to the beginning of the line, and clears it. */
const SAME_LINE = '\r\u001b[K';

/** Replaces the current line of a terminal; an empty text removes it. */
export function printProgress(stream: NodeJS.WritableStream, line: string): void {
  stream.write(SAME_LINE + printable(line));
}

/** Prints warnings about settings without effect to stderr. */
export function reportWarnings(warnings: readonly string[], io: CommandIo): void {
  print(io.stderr, warnings.map((warning) => `warning: ${printable(warning)}\n`).join(''));
}

/** Prints all mistakes in the options to stderr, and where to find help. @returns the exit code */
export function reportMistakes(command: OptionCommand, mistakes: readonly Mistake[], io: CommandIo): number {
  const count = mistakes.length === 1 ? 'one mistake' : `${mistakes.length} mistakes`;
  const lines = mistakes.map((mistake) => `  ${describeMistake(mistake)}`).join('\n');
  // `config` starts nothing; it shows what `run` would do.
  const what = command === 'config' ? 'run would not start' : `${command} did not start`;
  const hints = [
    ...(mistakes.every(lineOf) ? [] : [`celery-otel ${command} --help`]),
    ...(mistakes.some(lineOf)
      ? [
          'celery-otel config --example, a complete file with comments; docs/configuration.md, "One configuration file"',
        ]
      : []),
  ].map((hint) => `Try: ${hint}\n`);
  print(io.stderr, `celery-otel ${what}, ${count} in its options:\n${lines}\n${hints.join('')}`);
  return EXIT_CODE.misconfigured;
}
