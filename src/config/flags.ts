/**
 * Reads the text of each option from the command line. Any other argument is a mistake. Its text is not printed, because an
 * argument without a flag may be part of an unquoted secret.
 */
import { hint } from '../text/suggestion.ts';
import type { Mistake } from './mistake.ts';
import {
  flagOf,
  OPTIONS,
  type OptionCommand,
  type OptionKey,
  type OptionRow,
  optionRows,
} from './options.ts';

const ONLY_FLAGS = 'only flags (quote values that contain spaces)';

/** Reads the arguments after the name of the command. */
export function readFlags(argv: readonly string[], command: OptionCommand) {
  const keys = new Map(optionRows(command).map(([key]) => [flagOf(key), key]));
  const given = new Map<OptionKey, string>();
  const mistakes: Mistake[] = [];
  const refuse = (path: string, source: string, expected: string): void => {
    mistakes.push({ path, source, expected });
  };
  let afterUnknown = false;
  for (let index = 0; index < argv.length; index += 1) {
    const [flag, inline] = split(argv[index] ?? '');
    const key = keys.get(flag);
    if (key === undefined) {
      const isFlag = /^-[^-]|^--./.test(flag);
      if (isFlag) mistakes.push(unknownFlag(flag, command, [...keys.keys()]));
      else if (!afterUnknown) refuse('command line', `argument ${index + 1} after the command`, ONLY_FLAGS);
      // The argument after an unknown flag is probably its value, and no second mistake.
      afterUnknown = isFlag && inline === undefined;
      continue;
    }
    afterUnknown = false;
    const row: OptionRow<unknown> = OPTIONS[key];
    // A switch alone means `true`.
    const isSwitch = row.format.schema.type === 'boolean';
    const alone = isSwitch ? 'true' : row.alone;
    const next = argv[index + 1];
    // The next argument is the value, unless it is another flag.
    const isNext = inline === undefined && !isSwitch && next !== undefined && !keys.has(split(next)[0]);
    if (isNext) index += 1;
    const text = (inline ?? (isNext ? next : alone) ?? '').trim();
    if (text === '') refuse(key, flag, `a value: ${row.format.expects}`);
    else if (given.has(key)) refuse(key, flag, 'this flag only once');
    else given.set(key, text);
  }
  return { given, mistakes };
}

/** Splits `--flag=value`; the value is undefined if there is no `=`. */
function split(argument: string): readonly [flag: string, value: string | undefined] {
  const [, flag = argument, value] = /^(--?[^=]+)=(.*)$/s.exec(argument) ?? [];
  return [flag, value];
}

function unknownFlag(flag: string, command: OptionCommand, known: readonly string[]): Mistake {
  const elsewhere = optionRows().find(([key]) => flagOf(key) === flag);
  return {
    path: 'command line',
    source: /^--?[a-z][a-z0-9_-]{0,40}$/i.test(flag) ? flag : 'a flag',
    expected:
      elsewhere === undefined
        ? `a flag of ${command}${hint(flag.toLowerCase(), known)}`
        : `a flag of ${command}; this one belongs to ${elsewhere[1].commands.join(' and ')}`,
  };
}
