/**
 * Finds the text of each option of a command (flag, otherwise environment, otherwise file, otherwise default),
 * validates it with convict, and collects all mistakes. The caller passes the environment.
 */
import convict from 'convict';
import type { SignalName } from '../otlp/signal-paths.ts';
import { readCeleryMaps } from './celery-maps.ts';
import { unreadVariables } from './celery-variables.ts';
import { readFlags } from './flags.ts';
import type { Mistake } from './mistake.ts';
import {
  brokenRule,
  type Given,
  type GivenTexts,
  type Options,
  optionsOf,
  sharedButUnused,
} from './option-rules.ts';
import {
  envOf,
  flagOf,
  type KeyedRow,
  OPTIONS,
  type OptionCommand,
  type OptionKey,
  optionRows,
} from './options.ts';
import { unknownVariables } from './unknown-variables.ts';

/** The sources of options: the arguments after the command's name, and the environment. */
export interface OptionSources {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Whether an unknown variable `CELERY_OTEL_…` is a mistake. Set it for commands; a program that embeds the bridge may
   * have variables of its own.
   */
  readonly refuseUnknown?: boolean;
}

export interface OptionCheck {
  readonly rows: readonly KeyedRow[];
  /** Texts for other rows are not checked. */
  readonly given: GivenTexts;
  /** Collects mistakes; earlier ones may explain why an option is missing. */
  readonly mistakes: Mistake[];
  /** Collects warnings about variables without effect; if absent, each of them is a mistake. */
  readonly warnings?: string[] | undefined;
  /** The path and the line to report for a missing option; by default, its key. */
  readonly place?: ((key: OptionKey) => Pick<Mistake, 'path' | 'source'>) | undefined;
  /** The signal for which the export options are read; by default, metrics. */
  readonly signal?: SignalName;
}

/** All options of a command, or all mistakes. */
export function readOptions(command: OptionCommand, { argv, env, refuseUnknown }: OptionSources) {
  const rows = optionRows(command);
  const flags = readFlags(argv, command);
  const mistakes = [...flags.mistakes, ...(refuseUnknown === true ? unknownVariables(env) : [])];
  const warnings = refuseUnknown === true ? [...unreadVariables(env)] : [];
  const maps = readCeleryMaps(rows.some(([key]) => key === 'broker_url') ? env : {}, mistakes);
  const given = new Map([...maps.given, ...findGiven(rows, flags.given, env)]);
  const options = checkOptions({ rows, given, mistakes, warnings });
  const broker = maps.broker(options.text('broker_url'));
  return mistakes.length === 0
    ? ({ ok: true, options, broker, warnings } as const)
    : ({ ok: false, mistakes } as const);
}

/**
 * The texts from flags and environment: the text of highest precedence; for merged lists, all texts, with that one
 * last.
 */
export function findGiven(
  rows: readonly KeyedRow[],
  flags: ReadonlyMap<OptionKey, string>,
  env: OptionSources['env'],
  signal?: SignalName,
): Map<OptionKey, Given> {
  const given = new Map<OptionKey, Given>();
  for (const [key, row] of rows) {
    // OpenTelemetry treats an empty variable as unset.
    const found = [
      { source: flagOf(key), text: flags.get(key) ?? '' },
      ...envOf(key, signal).map((name) => ({ source: name, text: env[name]?.trim() ?? '' })),
    ].filter(({ text }) => text !== '');
    const used = row.merged === true ? found.toReversed() : found.slice(0, 1);
    if (used.length === 0) continue;
    const source = used.map((one) => one.source).join(' + ');
    given.set(key, { path: key, source, text: used.map(({ text }) => text).join(',') });
  }
  return given;
}

/** With a configuration file, all other variables of the specification are ignored ("OTEL_CONFIG_FILE"). */
export function withoutStandard(env: OptionSources['env']): OptionSources['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_')));
}

/** Validates each option, then applies the rules between options. */
export function checkOptions({ rows, given, mistakes, warnings, place, signal }: OptionCheck): Options {
  const refuse = (key: OptionKey, expected: string): void => {
    const found = given.get(key);
    const { path, source } = found ?? place?.(key) ?? { path: key };
    // Do not report again: a flag without a value, or an invalid item of a list.
    if (
      found === undefined &&
      mistakes.some((other) => other.path === path || other.path.startsWith(`${path}[`))
    ) {
      return;
    }
    const value = found === undefined ? undefined : OPTIONS[key].format.show(found.text);
    const missing = found === undefined && source !== undefined;
    // If the option is set nowhere and belongs to no file, name its variable and its flag.
    const names = found === undefined && source === undefined ? namesOf(key, signal) : '';
    mistakes.push({ path, source, value, expected: (missing ? `a value: ${expected}` : expected) + names });
  };
  const options = optionsOf(rows, given, signal);
  checkAll(rows, options, refuse);
  for (const [key] of rows) {
    const expected = brokenRule(key, options);
    if (expected === undefined) continue;
    const unused = warnings && sharedButUnused(key, options);
    if (unused !== undefined) warnings?.push(unused);
    else refuse(key, expected);
  }
  return options;
}

function namesOf(key: OptionKey, signal?: SignalName): string {
  return `; set it with ${[...envOf(key, signal).slice(0, 1), flagOf(key)].join(' or ')}`;
}

/**
 * Checks each text by the format of its row, with convict. convict does not read the environment or the arguments, because it
 * supports only one variable per option, does not track origins, and would put all mistakes into one message.
 */
function checkAll(
  rows: readonly KeyedRow[],
  { text }: Options,
  refuse: (key: OptionKey, expected: string) => void,
): void {
  const schema = rows.map(([key, { doc, format }]) => {
    const check = (value: unknown): void => {
      const reading = format.read(String(value));
      if (!reading.ok) refuse(key, reading.expected);
    };
    // Without a text there is nothing to check.
    return [key, { doc, default: text(key), format: check }] as const;
  });
  convict(Object.fromEntries(schema), { env: {}, args: [] }).validate();
}
