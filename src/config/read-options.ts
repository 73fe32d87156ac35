/**
 * Finds the text of every option of a command (flag, else environment, else default), has convict check all of them
 * against the table, and collects every mistake there is. It is given the environment and never looks for it.
 */
import convict from 'convict';
import { readFlags } from './flags.ts';
import type { Mistake } from './mistake.ts';
import { OPTION_RULES, type OptionReader } from './option-rules.ts';
import {
  OPTIONS,
  type OptionCommand,
  type OptionKey,
  type OptionRow,
  type OptionValues,
  optionRows,
} from './options.ts';

/** Where options come from: the arguments after the command's name, and the environment. */
export interface OptionSources {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Checked options. */
export interface Options extends OptionReader {
  /** The value of an option that is required or has a default. */
  need<K extends OptionKey>(key: K): OptionValues[K];
}

export type OptionsResult =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/** A text and the flag or the variables that it came from. */
interface Given {
  readonly source: string;
  readonly text: string;
}

/** All options of a command, or all that is wrong with them. */
export function readOptions(command: OptionCommand, { argv, env }: OptionSources): OptionsResult {
  const rows = optionRows(command);
  const flags = readFlags(argv, command);
  const given = new Map<OptionKey, Given>();
  for (const [key, row] of rows) {
    // The order of preference; an options file has its place after the environment.
    const chosen = choose(row, [...fromFlag(flags.given.get(key), row), ...fromEnv(env, row)]);
    if (chosen !== undefined) given.set(key, chosen);
  }

  const mistakes = [...flags.mistakes];
  const refuse = (key: OptionKey, expected: string): void => {
    const found = given.get(key);
    // A flag without its value was already complained about.
    if (found === undefined && mistakes.some(({ path }) => path === key)) return;
    const value = found === undefined ? undefined : OPTIONS[key].format.show(found.text);
    mistakes.push({ path: key, source: found?.source, value, expected });
  };

  const texts = checkAll(rows, given, refuse);
  const options = optionsOf(texts, given);
  for (const { path, broken } of OPTION_RULES) {
    const expected = OPTIONS[path].commands.includes(command) ? broken(options) : undefined;
    if (expected !== undefined) refuse(path, expected);
  }
  return mistakes.length === 0 ? { ok: true, options } : { ok: false, mistakes };
}

function fromFlag(text: string | undefined, row: OptionRow<unknown>): Given[] {
  return text === undefined ? [] : [{ source: row.flag, text }];
}

/** OpenTelemetry treats an empty variable as one that is not set. */
function fromEnv(env: OptionSources['env'], row: OptionRow<unknown>): Given[] {
  return row.env.flatMap((name) => {
    const text = env[name]?.trim() ?? '';
    return text === '' ? [] : [{ source: name, text }];
  });
}

/** The most preferred text, or for a merged list all of them, the most preferred last, where it wins key by key. */
function choose(row: OptionRow<unknown>, found: readonly Given[]): Given | undefined {
  if (row.merged !== true || found.length < 2) return found[0];
  const weakestFirst = found.toReversed();
  return {
    source: weakestFirst.map(({ source }) => source).join(' + '),
    text: weakestFirst.map(({ text }) => text).join(','),
  };
}

/**
 * Texts with defaults filled in, after convict had every one of them checked. It is handed nothing but texts and
 * functions as formats, because what it coerces by itself it coerces leniently ('12abc' is 12 to it); and neither
 * environment nor arguments, because it knows but one variable for an option.
 */
function checkAll(
  rows: readonly (readonly [OptionKey, OptionRow<unknown>])[],
  given: ReadonlyMap<OptionKey, Given>,
  refuse: (key: OptionKey, expected: string) => void,
): Readonly<Record<string, string | null | undefined>> {
  let refusals = 0;
  const schema = rows.map(([key, row]) => {
    const check = (text: unknown): void => {
      const reading = typeof text === 'string' ? row.format.read(text) : undefined;
      if (reading?.ok === true) return;
      refusals += 1;
      refuse(key, reading?.expected ?? row.format.expects);
      throw new Error('refused');
    };
    const value = row.required === true ? null : row.default;
    return [key, { doc: row.doc, default: value, format: check, sensitive: row.secret === true }] as const;
  });
  const config = convict<Record<string, string | null | undefined>>(Object.fromEntries(schema), {
    env: {},
    args: [],
  });
  config.load(Object.fromEntries([...given].map(([key, { text }]) => [key, text])));
  try {
    config.validate({ allowed: 'strict' });
  } catch (error) {
    // Its one message for everything is not of use beside the refusals; without one, something else is wrong.
    if (refusals === 0) throw error;
  }
  return config.getProperties();
}

function optionsOf(
  texts: Readonly<Record<string, string | null | undefined>>,
  given: ReadonlyMap<OptionKey, Given>,
): Options {
  function value<K extends OptionKey>(key: K): OptionValues[K] | undefined {
    const text = texts[key];
    if (typeof text !== 'string') return undefined;
    const reading = OPTIONS[key].format.read(text);
    return reading.ok ? reading.value : undefined;
  }
  return {
    value,
    isGiven: (key) => given.has(key),
    need(key) {
      const found = value(key);
      if (found === undefined)
        throw new Error(`option ${key} was read before it was checked, or has no default`);
      return found;
    },
  };
}
