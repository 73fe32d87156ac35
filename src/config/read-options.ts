/**
 * Finds the text of every option of a command (flag, else environment, else what else gives it, else default), checks it
 * by its row, and collects every mistake. It is given the environment and never looks for it.
 */
import { readFlags } from './flags.ts';
import type { Mistake } from './mistake.ts';
import { OPTION_RULES, type OptionReader } from './option-rules.ts';
import {
  flagOf,
  type KeyedRow,
  OPTIONS,
  type OptionCommand,
  type OptionKey,
  type OptionValues,
  optionRows,
} from './options.ts';
import { unknownVariables } from './unknown-variables.ts';

/** Where options come from: the arguments after the command's name, and the environment. */
export interface OptionSources {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Whether a variable `CELERY_OTEL_…` that no option has is a mistake. To a command it is; a program that embeds the
   * bridge may have some of its own.
   */
  readonly refuseUnknown?: boolean;
}

/** Checked options. */
export interface Options extends OptionReader {
  /** The value of an option that is required or has a default. */
  need<K extends OptionKey>(key: K): OptionValues[K];
}

export type OptionsResult =
  | { readonly ok: true; readonly options: Options }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/** A text, and where it came from: a flag, variables, or a line of a file with the path there. */
export interface Given {
  readonly path: string;
  readonly source: string;
  readonly text: string;
}

export type GivenTexts = ReadonlyMap<OptionKey, Given>;

export interface OptionCheck {
  readonly rows: readonly KeyedRow[];
  /** What else is given for other rows is not looked at. */
  readonly given: GivenTexts;
  /** Where mistakes are added; those that are there already may explain why something is missing. */
  readonly mistakes: Mistake[];
  /** Where an option belongs that is not given; by default to nowhere but itself. */
  readonly place?: (key: OptionKey) => Pick<Mistake, 'path' | 'source'>;
}

/** All options of a command, or all that is wrong with them. */
export function readOptions(
  command: OptionCommand,
  { argv, env, refuseUnknown }: OptionSources,
): OptionsResult {
  const rows = optionRows(command);
  const flags = readFlags(argv, command);
  const mistakes = [...flags.mistakes, ...(refuseUnknown === true ? unknownVariables(env) : [])];
  const options = checkOptions({ rows, given: findGiven(rows, flags.given, env), mistakes });
  return mistakes.length === 0 ? { ok: true, options } : { ok: false, mistakes };
}

/** What flags and environment give: the most preferred text, or all of a list that is merged, where the last one wins. */
export function findGiven(
  rows: readonly KeyedRow[],
  flags: ReadonlyMap<OptionKey, string>,
  env: OptionSources['env'],
): Map<OptionKey, Given> {
  const given = new Map<OptionKey, Given>();
  for (const [key, row] of rows) {
    // OpenTelemetry treats an empty variable as one that is not set.
    const found = [
      { source: flagOf(key), text: flags.get(key) ?? '' },
      ...row.env.map((name) => ({ source: name, text: env[name]?.trim() ?? '' })),
    ].filter(({ text }) => text !== '');
    const used = row.merged === true ? found.toReversed() : found.slice(0, 1);
    if (used.length === 0) continue;
    const source = used.map((one) => one.source).join(' + ');
    given.set(key, { path: key, source, text: used.map(({ text }) => text).join(',') });
  }
  return given;
}

/** Checks each option by itself and all by the rules between them. */
export function checkOptions({ rows, given, mistakes, place }: OptionCheck): Options {
  const refuse = (key: OptionKey, expected: string): void => {
    const found = given.get(key);
    const { path, source } = found ?? place?.(key) ?? { path: key, source: undefined };
    // A flag without its value was already complained about, and so was a list with a wrong item.
    if (
      found === undefined &&
      mistakes.some((other) => other.path === path || other.path.startsWith(`${path}[`))
    ) {
      return;
    }
    const value = found === undefined ? undefined : OPTIONS[key].format.show(found.text);
    const missing = found === undefined && source !== undefined;
    mistakes.push({ path, source, value, expected: missing ? `a value: ${expected}` : expected });
  };
  const texts = new Map<OptionKey, string>();
  for (const [key, { format, required, default: byDefault }] of rows) {
    const text = given.get(key)?.text ?? byDefault;
    if (text !== undefined) {
      texts.set(key, text);
      const reading = format.read(text);
      if (!reading.ok) refuse(key, reading.expected);
    } else if (required === true) refuse(key, format.expects);
  }
  const options = optionsOf(texts, given);
  for (const { path, broken } of OPTION_RULES) {
    const expected = rows.some(([key]) => key === path) ? broken(options) : undefined;
    if (expected !== undefined) refuse(path, expected);
  }
  return options;
}

function optionsOf(texts: ReadonlyMap<OptionKey, string>, given: GivenTexts): Options {
  function value<K extends OptionKey>(key: K): OptionValues[K] | undefined {
    const text = texts.get(key);
    if (text === undefined) return undefined;
    const reading = OPTIONS[key].format.read(text);
    return reading.ok ? reading.value : undefined;
  }
  return {
    value,
    text: (key) => texts.get(key),
    source: (key) => given.get(key)?.source,
    isGiven: (key) => given.has(key),
    need(key) {
      const found = value(key);
      if (found === undefined)
        throw new Error(`option ${key} was read before it was checked, or has no default`);
      return found;
    },
  };
}
