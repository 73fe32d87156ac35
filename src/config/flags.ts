/**
 * The command line → which option was given which text. What belongs to no option is a mistake, and its text is not
 * repeated: an argument without a flag is likely to be a piece of an unquoted secret.
 */
import { parseArgs } from 'node:util';
import { nearest } from './format/near-miss.ts';
import { COMMAND_LINE, type Mistake } from './mistake.ts';
import { type OptionCommand, type OptionKey, type OptionRow, optionRows } from './options.ts';

export interface Flags {
  readonly given: ReadonlyMap<OptionKey, string>;
  readonly mistakes: readonly Mistake[];
}

type Row = OptionRow<unknown>;
type OptionToken = Extract<NonNullable<ReturnType<typeof firstToken>>, { kind: 'option' }>;

/** Reads the arguments that follow the name of the command. */
export function readFlags(argv: readonly string[], command: OptionCommand): Flags {
  const rows = new Map(optionRows(command).map(([key, row]) => [row.flag.slice(2), { key, row }]));
  const given = new Map<OptionKey, string>();
  const mistakes: Mistake[] = [];
  let afterUnknown = false;
  for (let index = 0; index < argv.length; ) {
    const token = firstToken(argv.slice(index), rows);
    const option = token?.kind === 'option' ? token : undefined;
    const known = option?.rawName.startsWith('--') ? rows.get(option.name) : undefined;
    if (option === undefined || known === undefined) {
      const argument = argv[index] ?? '';
      if (option !== undefined) mistakes.push(unknownFlag(argument, command));
      else if (!afterUnknown) mistakes.push(strayArgument(index));
      // What follows an unknown flag is its value: one mistake, not two.
      afterUnknown = option !== undefined && !argument.includes('=');
      index += 1;
      continue;
    }
    const { key, row } = known;
    const { text, consumed } = readValue(option, row, rows);
    if (text === '') mistakes.push(wrongUse(key, row, `a value: ${row.format.expects}`));
    else if (given.has(key)) mistakes.push(wrongUse(key, row, 'the flag only once'));
    else given.set(key, text);
    afterUnknown = false;
    index += consumed;
  }
  return { given, mistakes };
}

/** The first token of some arguments; no more of them, because what it took for its value may be a flag of its own. */
function firstToken(args: readonly string[], rows: ReadonlyMap<string, { row: Row }>) {
  const options = Object.fromEntries(
    [...rows].map(([name, { row }]) => [
      name,
      { type: row.format.flagAlone ? 'boolean' : 'string' } as const,
    ]),
  );
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true })
    .tokens[0];
}

/** The text of a flag, '' where it has none, and how many arguments both are. */
function readValue(
  token: OptionToken,
  row: Row,
  rows: ReadonlyMap<string, unknown>,
): { text: string; consumed: number } {
  if (row.format.flagAlone) return { text: token.value?.trim() ?? 'true', consumed: 1 };
  const text = token.value?.trim() ?? '';
  if (token.inlineValue !== false) return { text, consumed: 1 };
  return isKnownFlag(text, rows) ? { text: '', consumed: 1 } : { text, consumed: 2 };
}

function isKnownFlag(text: string, rows: ReadonlyMap<string, unknown>): boolean {
  const name = /^--([^=]+)/.exec(text)?.[1];
  return name !== undefined && rows.has(name);
}

function wrongUse(key: OptionKey, row: Row, expected: string): Mistake {
  return { path: key, source: row.flag, value: undefined, expected };
}

function unknownFlag(argument: string, command: OptionCommand): Mistake {
  const [flag = ''] = argument.split('=', 1);
  const elsewhere = optionRows().find(([, row]) => row.flag === flag);
  const near = nearest(
    flag.toLowerCase(),
    optionRows(command).map(([, row]) => row.flag),
  );
  return {
    path: COMMAND_LINE,
    source: /^--?[a-z][a-z0-9_-]{0,40}$/i.test(flag) ? flag : 'a flag',
    value: undefined,
    expected:
      elsewhere === undefined
        ? `a flag that ${command} has${near === undefined ? '' : ` (did you mean ${near}?)`}`
        : `a flag that ${command} has; this one belongs to ${elsewhere[1].commands.join(' and ')}`,
  };
}

function strayArgument(index: number): Mistake {
  return {
    path: COMMAND_LINE,
    source: `argument ${index + 1} after the command`,
    value: undefined,
    expected: 'only flags (put a value that has spaces in it in quotes)',
  };
}
