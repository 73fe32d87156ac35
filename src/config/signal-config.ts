/**
 * Decides whether traces and log records are made, and builds their configuration, from options and the sections of a file.
 * Options of a signal that is off are mistakes, unless they may be meant for another program. It reads no file.
 */
import type { BatchSettings } from '../otlp/otlp-settings.ts';
import type { SignalName } from '../otlp/signal-paths.ts';
import type { Sampler, SamplingRule } from '../tracer/trace-settings.ts';
import type { LogsConfig, TracesConfig } from './config.ts';
import { exporterSettings, type GivenExporter } from './file/exporter-section.ts';
import { parsePath } from './file/file-path.ts';
import { OUTCOME } from './file/sampler-section.ts';
import type { readSignals } from './file/signal-sections.ts';
import type { KeptRuns, SamplerName } from './format/signal-formats.ts';
import type { Mistake } from './mistake.ts';
import type { GivenTexts, Options } from './option-rules.ts';
import { envOf, fileOf, type KeyedRow, type OptionKey, signalRows } from './options.ts';
import { noteOrigins, type Origins } from './origins.ts';
import type { Exports } from './proxy-variables.ts';
import { checkOptions, findGiven, type OptionSources, withoutStandard } from './read-options.ts';
import { settingsOf } from './settings.ts';

interface SignalSources {
  readonly flags: ReadonlyMap<OptionKey, string>;
  readonly env: OptionSources['env'];
  /** The texts from the section `celery` of a file. */
  readonly given: GivenTexts;
  /** Undefined without a file. */
  readonly fileName: string | undefined;
  readonly mistakes: Mistake[];
}

const SIGNALS = ['traces', 'logs'] as const;

type Providers = ReturnType<typeof readSignals>;

/** The options of the signals that are on. @param providers the sections of a file */
export function signalOptions(options: Options, providers: Providers, sources: SignalSources) {
  const isExported = (signal: 'traces' | 'logs') => options.value(`${signal}_exporter`) === 'otlp';
  const isThere = (signal: 'traces' | 'logs') => providers[signal] !== undefined;
  const on = SIGNALS.filter(sources.fileName === undefined ? isExported : isThere);
  const areShown = options.value('status_address') !== undefined;
  const [traces, logs] = SIGNALS.map((signal) => {
    if (on.includes(signal)) return checkSignal(signal, sources, providers[signal]);
    refuseOptions(signal, on, areShown, sources);
    return undefined;
  });
  const pages = areShown && on.length === 0 ? checkExceptions(sources) : undefined;
  return { traces, logs, pages };
}

/**
 * Whether the option is about texts of exceptions, which the pages show even if neither log records nor spans are made.
 */
const isOfExceptions = ([, { also }]: KeyedRow): boolean => also !== undefined;

function checkExceptions({ flags, env, given, fileName, mistakes }: SignalSources): Options {
  const rows = rowsOutside('logs', fileName).filter(isOfExceptions);
  const texts = new Map([...given, ...findGiven(rows, flags, env, 'logs')]);
  return checkOptions({ rows, given: texts, mistakes, signal: 'logs' });
}

/** The options of a signal that flags and variables can set: with a file, only the file configures the export. */
function rowsOutside(signal: SignalName, fileName: string | undefined): readonly KeyedRow[] {
  const rows = signalRows(signal);
  return fileName === undefined ? rows : rows.filter(([, { scope }]) => scope === 'signal');
}

function checkSignal(
  signal: SignalName,
  { flags, env, given, fileName, mistakes }: SignalSources,
  provider: GivenExporter | undefined,
): Options {
  const outside = findGiven(rowsOutside(signal, fileName), flags, env, signal);
  const texts = new Map([...given, ...outside, ...(provider?.given ?? [])]);
  return checkOptions({ rows: signalRows(signal), given: texts, mistakes, place: provider?.place, signal });
}

/**
 * Reports options of a signal that is off, unless they also belong to a signal that is on, or to the pages. Variables
 * of the standard are not reported, since they may be meant for other programs.
 * @param areShown whether pages are served
 */
function refuseOptions(
  signal: 'traces' | 'logs',
  on: readonly SignalName[],
  areShown: boolean,
  { flags, env, given, fileName, mistakes }: SignalSources,
): void {
  const exporter = `${signal}_exporter` as const;
  const toDo =
    fileName === undefined ? `set ${envOf(exporter).join()}=otlp` : `add ${fileOf(exporter)} to ${fileName}`;
  const rows = rowsOutside(signal, fileName).filter((row) => {
    const [, { signal: of, also }] = row;
    if (areShown && isOfExceptions(row)) return false;
    return of === signal && !(also !== undefined && on.includes(also));
  });
  const explicit = new Map([...given, ...findGiven(rows, flags, withoutStandard(env))]);
  for (const [key, { format }] of rows) {
    const one = explicit.get(key);
    if (one === undefined) continue;
    const expected = `no option of ${signal}, because there are none: remove it, or ${toDo}`;
    mistakes.push({ path: one.path, source: one.source, value: format.show(one.text), expected });
  }
}

/** The configuration of the signals that are on. */
export function signalConfigs(
  { traces, logs, pages }: ReturnType<typeof signalOptions>,
  providers: Providers,
  origins: Origins,
): Omit<Exports, 'otlp'> {
  for (const options of [traces, logs]) {
    if (options !== undefined) noteOrigins(options, signalRows(options.signal), origins);
  }
  if (pages !== undefined) noteOrigins(pages, signalRows('logs').filter(isOfExceptions), origins);
  const isLogged = logs !== undefined && providers.logs?.isEnabled !== false;
  // If no log record is made, the settings for log records apply to the pages.
  const shown = isLogged || traces !== undefined ? undefined : (logs ?? pages);
  const areEvents = !isLogged || providers.logs?.hasBridge === true;
  return {
    ...(traces && { traces: tracesConfig(traces, areEvents, providers.traces, origins) }),
    ...(isLogged && { logs: logsConfig(logs, providers.logs) }),
    ...(shown && { exceptions: exceptionSettings(shown) }),
  };
}

/** @param exceptionEvents whether exceptions become events of spans */
function tracesConfig(
  options: Options,
  exceptionEvents: boolean,
  provider: Providers['traces'],
  origins: Origins,
): TracesConfig {
  return {
    exporter: exporterSettings(options, provider),
    batch: batchSettings(options),
    settings: {
      ...settingsOf(options, 'settings', { signal: 'traces' }),
      sampler: provider?.sampler ?? samplerOf(options, origins),
      exceptionEvents,
    },
    exceptions: exceptionSettings(options),
  };
}

function logsConfig(options: Options, provider: Providers['logs']): LogsConfig {
  return {
    exporter: exporterSettings(options, provider),
    batch: batchSettings(options),
    settings: {
      ...settingsOf(options, 'settings', { signal: 'logs' }),
      minimumSeverity: provider?.minimumSeverity ?? 1,
      traceBased: provider?.traceBased ?? false,
    },
  };
}

function exceptionSettings(options: Options): TracesConfig['exceptions'] {
  return settingsOf(options, 'settings', { also: 'traces' });
}

/** The default size of a request is lowered to that of a shorter queue. */
function batchSettings(options: Options): BatchSettings {
  const batch = settingsOf(options, 'batch', { signal: options.signal });
  return { ...batch, maxBatchSize: Math.min(batch.maxBatchSize, batch.maxQueueSize) };
}

/**
 * The sampler that the options describe. With `traces_keep`, it is a composite sampler, like `composite/development` in
 * a file.
 */
function samplerOf(options: Options, origins: Origins): Sampler {
  const name = options.need('traces_sampler');
  const share = options.need('traces_sampler_arg');
  const kept = options.value('traces_keep');
  const sources = [
    options.source('traces_sampler'),
    name.endsWith('ratio') ? options.source('traces_sampler_arg') : undefined,
  ].filter((source) => source !== undefined);
  const at = parsePath(fileOf('traces_sampler') ?? '');
  origins.note(at, sources.join(' + ') || undefined);
  if (kept === undefined) return samplerNamed(name, share, 'parent_based');
  const rules = keepingRules(kept);
  for (const index of rules.keys()) {
    const path = [...at, 'composite/development', 'rule_based', 'rules', index];
    origins.note(path, options.source('traces_keep'));
  }
  return {
    kind: 'rule_based',
    rules: [...rules, { sampler: samplerNamed(name, share, 'parent_threshold') }],
  };
}

/**
 * @param ofParents the kind of sampler that follows a parent; only `parent_threshold` may be part of a composite
 * sampler
 */
function samplerNamed(
  name: SamplerName,
  share: number,
  ofParents: 'parent_based' | 'parent_threshold',
): Sampler {
  const parentBased = (root: Sampler): Sampler =>
    ofParents === 'parent_threshold'
      ? { kind: ofParents, root }
      : { kind: ofParents, root, remoteSampled: ALWAYS_ON, remoteNotSampled: ALWAYS_OFF };
  switch (name) {
    case 'always_on':
      return ALWAYS_ON;
    case 'always_off':
      return ALWAYS_OFF;
    case 'traceidratio':
      return { kind: 'probability', ratio: share };
    case 'parentbased_always_on':
      return parentBased(ALWAYS_ON);
    case 'parentbased_always_off':
      return parentBased(ALWAYS_OFF);
    case 'parentbased_traceidratio':
      return parentBased({ kind: 'probability', ratio: share });
  }
}

const ALWAYS_ON: Sampler = { kind: 'always_on' };
const ALWAYS_OFF: Sampler = { kind: 'always_off' };

function keepingRules({ outcomes, slow }: KeptRuns): readonly SamplingRule[] {
  const rule = (key: string, values: readonly string[]): SamplingRule => ({
    attributeValues: { key, values },
    sampler: ALWAYS_ON,
  });
  return [
    ...(outcomes.length === 0 ? [] : [rule(OUTCOME, outcomes)]),
    ...(slow ? [rule('celery.task.slow', ['true'])] : []),
  ];
}
