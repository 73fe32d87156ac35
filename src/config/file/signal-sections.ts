/**
 * Reads `tracer_provider`, `logger_provider` and `attribute_limits` of a configuration file: the export options of traces and
 * log records, and settings that only a file can have.
 */
import type { SignalName } from '../../otlp/signal-paths.ts';
import { oneOf, trueOrFalse } from '../format/formats.ts';
import { SEVERITY_NAMES } from '../format/signal-formats.ts';
import { DAY_MS, OPTIONS, type OptionKey } from '../options.ts';
import type { Origins } from '../origins.ts';
import { exporterKeys, noLimit, option, readExporter } from './exporter-section.ts';
import { showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { SAMPLER } from './sampler-section.ts';
import { list, map, placed, type Read, refused, required, scalar } from './shape.ts';

const ONE_BACKEND = 'only one processor, because everything is exported to one backend';
const BATCHES = 'requests are always batches; use batch';
const FIXED = 'celery-otel decides how many there are, and they are few';
const BATCH_NEEDED = 'a list with a batch processor';

const lengthLimit = option('span_attribute_value_length_limit');

const batch = (signal: SignalName) =>
  map({
    schedule_delay: option('bsp_schedule_delay'),
    export_timeout: noLimit,
    max_queue_size: option('bsp_max_queue_size'),
    max_export_batch_size: option('bsp_max_export_batch_size'),
    exporter: exporterKeys(signal, {}),
  });

export const ATTRIBUTE_LIMITS = map({
  attribute_value_length_limit: lengthLimit,
  attribute_count_limit: refused(FIXED),
});

export const TRACER_PROVIDER = map({
  processors: required(
    list(map({ batch: batch('traces'), simple: refused(BATCHES) }, { one: true }), 'maps', ONE_BACKEND),
    BATCH_NEEDED,
  ),
  limits: map({
    attribute_value_length_limit: lengthLimit,
    attribute_count_limit: refused(FIXED),
    event_count_limit: refused(FIXED),
    link_count_limit: refused(FIXED),
    event_attribute_count_limit: refused(FIXED),
    link_attribute_count_limit: refused(FIXED),
  }),
  sampler: SAMPLER,
  id_generator: refused('the ids of traces and spans follow from those of the tasks'),
  'tracer_configurator/development': refused('there is one tracer; configure it in celery.traces'),
});

const BRIDGE = 'event_to_span_event_bridge/development';
const CONFIGURATOR = 'logger_configurator/development';

export const LOGGER_PROVIDER = map({
  processors: required(
    list(placed(map({ batch: batch('logs'), simple: refused(BATCHES), [BRIDGE]: map({}) }, { one: true }))),
    BATCH_NEEDED,
  ),
  limits: map({ attribute_value_length_limit: lengthLimit, attribute_count_limit: refused(FIXED) }),
  [CONFIGURATOR]: map({
    default_config: map({
      enabled: scalar(trueOrFalse),
      minimum_severity: scalar(oneOf(SEVERITY_NAMES)),
      trace_based: scalar(trueOrFalse),
    }),
    loggers: refused('there is one logger; use default_config'),
  }),
});

interface Sections {
  readonly tracer_provider?: Read<typeof TRACER_PROVIDER> | undefined;
  readonly logger_provider?: Read<typeof LOGGER_PROVIDER> | undefined;
}

/**
 * Undefined for a signal without a section. @param root the whole file @param sections the values that were read from
 * the sections
 */
export function readSignals(root: FileValue | undefined, sections: Sections, origins: Origins) {
  if (root === undefined) return { traces: undefined, logs: undefined };
  const [hasTraces, hasLogs] = ['tracer_provider', 'logger_provider'].map(
    (key) => root.get(key) !== undefined,
  );
  const { tracer_provider: tracer = {}, logger_provider: logger = {} } = sections;
  if (!(hasTraces || hasLogs)) {
    root.get('attribute_limits')?.complain('no such key without a tracer_provider or a logger_provider');
  }
  return {
    traces: hasTraces ? readTracerProvider(root, tracer, origins) : undefined,
    logs: hasLogs ? readLoggerProvider(root, logger, hasTraces === true, origins) : undefined,
  };
}

/** For each timeout, the value that replaces 0 (no limit). */
const longest = (
  key: 'bsp_export_timeout' | 'blrp_export_timeout',
  exportTimeout: number | undefined,
): Readonly<Partial<Record<OptionKey, number>>> => ({
  [key]: DAY_MS,
  otlp_timeout: exportTimeout || DAY_MS,
});

/** @param root the whole file; the second argument is the value that was read from the section */
function readTracerProvider(
  root: FileValue,
  { processors: [processor] = [], sampler }: Read<typeof TRACER_PROVIDER>,
  origins: Origins,
) {
  const { exporter, export_timeout } = processor?.batch ?? {};
  const limits = longest('bsp_export_timeout', export_timeout);
  const read = readExporter(root, 'traces', { exporter, longest: limits }, origins);
  addLengthLimit(read.given, 'span_attribute_value_length_limit', root);
  const path = ['tracer_provider', 'sampler'];
  const rules = root.find([...path, 'composite/development', 'rule_based', 'rules'])?.items() ?? [];
  for (const place of [root.find(path), ...rules]) {
    if (place !== undefined) origins.note(place.path, place.source);
  }
  return { ...read, sampler };
}

/** @param hasTraces whether there is a `tracer_provider` */
function readLoggerProvider(
  root: FileValue,
  { processors = [], [CONFIGURATOR]: configurator }: Read<typeof LOGGER_PROVIDER>,
  hasTraces: boolean,
  origins: Origins,
) {
  const batches = processors.filter(({ value }) => value.batch !== undefined);
  const bridges = processors.filter(({ value }) => value[BRIDGE] !== undefined);
  for (const { place } of [...batches.slice(1), ...bridges.slice(1)]) place.complain(ONE_BACKEND);
  const list = root.find(['logger_provider', 'processors']);
  if (batches.length === 0 && bridges.length > 0) list?.complain(BATCH_NEEDED);
  origins.note(['logger_provider', 'processors', 1, BRIDGE], bridges[0]?.place.source);
  const {
    enabled = true,
    minimum_severity: minimum = 'trace',
    trace_based: traceBased = false,
  } = configurator?.default_config ?? {};
  if (!hasTraces) {
    const without = (what: string) => `${what} without a tracer_provider`;
    bridges[0]?.place.complain(without('no such processor'));
    const place = root.find(['logger_provider', CONFIGURATOR, 'default_config', 'trace_based']);
    if (traceBased) place?.complain(without('false'));
  }
  const { exporter, export_timeout } = batches[0]?.value.batch ?? {};
  const index = Number(batches[0]?.place.path.at(-1) ?? 0);
  const limits = longest('blrp_export_timeout', export_timeout);
  const read = readExporter(root, 'logs', { exporter, longest: limits, index }, origins);
  addLengthLimit(read.given, 'logrecord_attribute_value_length_limit', root);
  return {
    ...read,
    isEnabled: enabled,
    hasBridge: bridges.length > 0,
    minimumSeverity: SEVERITY_NAMES.indexOf(minimum) + 1,
    traceBased,
  };
}

/** Applies the limit for all signals to a signal without a limit of its own. */
function addLengthLimit(
  given: ReturnType<typeof readExporter>['given'],
  key: OptionKey,
  root: FileValue,
): void {
  const place = root.find(['attribute_limits', 'attribute_value_length_limit']);
  const { format } = OPTIONS[key];
  const text = place?.plain(format);
  if (place === undefined || text === undefined || given.has(key) || !format.read(text).ok) return;
  given.set(key, { path: showPath(place.path), source: place.source, text });
}
