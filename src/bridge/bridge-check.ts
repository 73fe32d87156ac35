/**
 * Validates the options of `createBridge`: services must be distinguishable, all metrics need a destination, and
 * settings must fit the formats of their options. For programs that embed the bridge, this is the only validation.
 */

import type { BrokerUrl } from '../broker/broker-url.ts';
import { findKind, KINDS } from '../broker/kinds.ts';
import { pointsPerRequest } from '../config/file/meter-section.ts';
import { cardinalityLimit, maxScale, maxSize } from '../config/file/views.ts';
import { type Format, finiteNumber, isWithin, ratio, wholeNumber } from '../config/format/formats.ts';
import { SEVERITY_NAMES } from '../config/format/signal-formats.ts';
import { hasBroker } from '../config/option-rules.ts';
import { type KeyedRow, OPTIONS, type OptionKey, serviceRows, signalRows } from '../config/options.ts';
import { type SetValue, settingsIn } from '../config/settings.ts';
import type { ViewStream } from '../otlp/collect/view.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import { CeleryOtelError } from '../text/errors.ts';
import type { BridgeOptions, BridgeService, LogsOptions, TracesOptions } from './bridge-options.ts';
import { SELF_NAME } from './destinations.ts';

/** @throws CeleryOtelError CONFIG_INVALID, which lists all mistakes, for settings with their paths */
export function checkOptions(options: BridgeOptions): void {
  const settings = settingsFaults(options);
  const mistakes = [...faults(options), ...settings.map((message) => ({ message, hint: FIX_OPTIONS }))];
  if (mistakes.length === 0) return;
  const hint = [...new Set(mistakes.map((mistake) => mistake.hint))].join(' ');
  throw new CeleryOtelError('CONFIG_INVALID', mistakes.map(({ message }) => message).join('; '), { hint });
}

interface Fault {
  readonly message: string;
  readonly hint: string;
}

const FIX_OPTIONS = 'Correct the options of createBridge.';

function faults(options: BridgeOptions): readonly Fault[] {
  const { services, otlp, self } = options;
  const found: Fault[] = [];
  const addFault = (message: string, hint = FIX_OPTIONS): void => {
    found.push({ message, hint });
  };
  const names = services.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) addFault(`two services are named ${JSON.stringify(twice)}`);
  if (names.includes(SELF_NAME)) addFault(`the service name ${SELF_NAME} is reserved for the bridge itself`);
  // Only the resource identifies a service, and it belongs to the provider.
  for (const [key, what] of PROVIDED) {
    const providers = services.flatMap((service) => service[key] ?? []);
    if (new Set(providers).size < providers.length) {
      addFault(`two services share one ${key}, so their ${what} could not be distinguished`);
    }
  }
  const isAttached = (one: Pick<BridgeService, 'meterProvider'>) => one.meterProvider !== undefined;
  for (const { name, broker } of services) {
    if (hasBroker(broker.urls, 'sentinel') && broker.redis.masterName === '') {
      addFault(`the service ${JSON.stringify(name)} has sentinels, but no redis.masterName`);
    }
  }
  if (otlp === undefined && !(services.every(isAttached) && (!self.enabled || isAttached(self)))) {
    addFault(
      'otlp is missing, and not everything has a meterProvider',
      'Set otlp, or give every service and self a meterProvider (or disable self).',
    );
  }
  return [...found, ...signalFaults(options).map((message) => ({ message, hint: FIX_OPTIONS }))];
}

const PROVIDED = [
  ['meterProvider', 'metrics'],
  ['loggerProvider', 'log records'],
] as const;

/** Checks that spans and log records have a destination, if any are made. */
function signalFaults({ services, traces, logs }: BridgeOptions): readonly string[] {
  const found: string[] = [];
  for (const [index, service] of services.entries()) {
    const at = `services[${index}]`;
    if (service.spanProcessor !== undefined && traces === undefined) {
      found.push(`${at} has a spanProcessor, but traces is missing`);
    }
    if (service.loggerProvider !== undefined && logs === undefined) {
      found.push(`${at} has a loggerProvider, but logs is missing`);
    }
  }
  const areSpansSent = services.some(({ spanProcessor }) => spanProcessor === undefined);
  const areLogsSent = services.some(({ loggerProvider }) => loggerProvider === undefined);
  return [...found, ...missing('traces', traces, areSpansSent), ...missing('logs', logs, areLogsSent)];
}

function missing(
  signal: 'traces' | 'logs',
  options: TracesOptions | LogsOptions | undefined,
  isSent: boolean,
): readonly string[] {
  if (options === undefined || !isSent) return [];
  const not = (['exporter', 'batch'] as const).filter((key) => options[key] === undefined);
  return not.length === 0 ? [] : [`${signal} has no ${not.join(' and no ')}, and not everything is attached`];
}

/** Checks settings against the formats of their options. */
function settingsFaults({ services, otlp, traces, logs }: BridgeOptions): readonly string[] {
  return [
    ...services.flatMap((service, index) => [
      ...settingFaults(`services[${index}]`, settingsIn(service, serviceRows())),
      ...service.broker.urls.flatMap((url, at) => urlFaults(`services[${index}].broker.urls[${at}]`, url)),
    ]),
    ...(otlp === undefined ? [] : otlpFaults(otlp)),
    ...(traces === undefined ? [] : traceFaults(traces)),
    ...(logs === undefined ? [] : logFaults(logs)),
  ];
}

function settingFaults(at: string, settings: readonly SetValue[]): readonly string[] {
  return settings.flatMap(({ key, path, value, format, scale }) => {
    if (value === undefined && isOptional(key)) return [];
    return format.list?.items.type === 'integer'
      ? listFaults(`${at}.${path}`, value, format)
      : faultOf(`${at}.${path}`, value, format, scale);
  });
}

/** Settings whose type allows undefined although their option has a default. */
const OPTIONAL: readonly OptionKey[] = ['broker_login_method', 'mark_ended', 'traces_slow_after'];

function isOptional(key: OptionKey): boolean {
  return OPTIONS[key].default === undefined || OPTIONAL.includes(key);
}

/** Checks a list of ascending numbers. */
function listFaults(path: string, value: unknown, format: Format<unknown>): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return [describe(path, value, format.expects)];
  const ofItems = { ...format, schema: format.list?.items ?? format.schema };
  return value.flatMap((item, index) => {
    const isAscending = index === 0 || !(item <= value[index - 1]);
    return isAscending
      ? faultOf(`${path}[${index}]`, item, ofItems)
      : [describe(`${path}[${index}]`, item, format.expects)];
  });
}

function urlFaults(at: string, url: BrokerUrl): readonly string[] {
  const kind = findKind(url);
  if (kind === undefined) return [describe(`${at}.scheme`, url.scheme, `one of ${SCHEMES.join(', ')}`)];
  return kind.faults(url).map(({ path, value, expected }) => describe(`${at}.${path}`, value, expected));
}

const SCHEMES = KINDS.flatMap(({ schemes }) => Object.keys(schemes));

type Numbers = readonly (readonly [path: string, value: unknown, format: Format<unknown>])[];

function otlpFaults(otlp: OtlpSettings): readonly string[] {
  const { pointsPerRequestMax: points } = otlp.schedule;
  const { limits, views } = otlp.streams;
  const numbers: Numbers = [
    ...(points === undefined ? [] : [['schedule.pointsPerRequestMax', points, pointsPerRequest] as const]),
    ...Object.entries(limits).map(
      ([kind, limit]) => [`streams.limits.${kind}`, limit, cardinalityLimit] as const,
    ),
    ...views.flatMap(({ stream }, index) =>
      numbersIn(stream).map(
        ([path, value, format]) => [`streams.views[${index}].stream.${path}`, value, format] as const,
      ),
    ),
  ];
  return [
    ...settingFaults('otlp', settingsIn(otlp, signalRows('metrics'))),
    ...numbers.flatMap(([path, value, format]) => faultOf(`otlp.${path}`, value, format)),
  ];
}

function traceFaults(traces: TracesOptions): readonly string[] {
  return [
    ...settingFaults(
      'traces',
      settingsIn(traces, signalRows('traces').filter(isOfTraces)).filter(isIn(traces)),
    ),
    ...queueFaults('traces', traces),
    ...samplerFaults('traces.settings.sampler', traces.settings.sampler),
  ];
}

/** What is exported of exceptions is not among the settings of traces. */
const isOfTraces = ([, { also }]: KeyedRow): boolean => also === undefined;

function logFaults(logs: LogsOptions): readonly string[] {
  return [
    ...settingFaults('logs', settingsIn(logs, signalRows('logs')).filter(isIn(logs))),
    ...queueFaults('logs', logs),
    ...faultOf('logs.settings.minimumSeverity', logs.settings.minimumSeverity, SEVERITY),
  ];
}

const SEVERITY = wholeNumber(1, SEVERITY_NAMES.length);

/** Whether a setting is not in an exporter or in batches that the options do not have. */
function isIn(options: TracesOptions | LogsOptions): (setting: SetValue) => boolean {
  const left = (['exporter', 'batch'] as const).filter((key) => options[key] === undefined);
  return ({ path }) => !left.some((key) => path.startsWith(`${key}.`));
}

function queueFaults(at: string, { batch }: TracesOptions | LogsOptions): readonly string[] {
  if (batch === undefined) return [];
  const { maxBatchSize, maxQueueSize } = batch;
  if (!(maxBatchSize > maxQueueSize)) return [];
  return [describe(`${at}.batch.maxBatchSize`, maxBatchSize, `at most maxQueueSize (${maxQueueSize})`)];
}

function samplerFaults(at: string, sampler: TracesOptions['settings']['sampler']): readonly string[] {
  switch (sampler.kind) {
    case 'always_on':
    case 'always_off':
      return [];
    case 'probability':
      return faultOf(`${at}.ratio`, sampler.ratio, ratio);
    case 'parent_based':
      return (['root', 'remoteSampled', 'remoteNotSampled'] as const).flatMap((key) =>
        samplerFaults(`${at}.${key}`, sampler[key]),
      );
    case 'parent_threshold':
      return samplerFaults(`${at}.root`, sampler.root);
    case 'rule_based':
      return sampler.rules.flatMap((rule, index) =>
        samplerFaults(`${at}.rules[${index}].sampler`, rule.sampler),
      );
  }
}

function numbersIn({ cardinalityLimit: limit, aggregation }: ViewStream): Numbers {
  const limits: Numbers = limit === undefined ? [] : [['cardinalityLimit', limit, cardinalityLimit]];
  switch (aggregation?.kind) {
    case 'explicit_bucket_histogram': {
      const { boundaries = [] } = aggregation;
      return [
        ...limits,
        ...boundaries.map(
          (value, index) => [`aggregation.boundaries[${index}]`, value, finiteNumber] as const,
        ),
      ];
    }
    case 'base2_exponential_bucket_histogram':
      return [
        ...limits,
        ['aggregation.maxScale', aggregation.maxScale, maxScale],
        ['aggregation.maxSize', aggregation.maxSize, maxSize],
      ];
    default:
      return limits;
  }
}

/** @param scale how many units of the value make one unit of the format */
function faultOf(
  path: string,
  value: unknown,
  { schema, expects, show }: Format<unknown>,
  scale = 1,
): readonly string[] {
  if (schema.type === 'boolean') return typeof value === 'boolean' ? [] : [describe(path, value, expects)];
  if (schema.type === 'string') {
    // What other texts become is not a text: a list, an address.
    if (schema.enum?.some((word) => word === value) ?? true) return [];
    return [describe(path, value, expects, typeof value === 'string' ? show(value) : undefined)];
  }
  if (typeof value === 'number' && isWithin(schema, value, scale)) return [];
  const maximum = (schema.maximum ?? Number.MAX_VALUE) * scale;
  return [describe(path, value, scale === 1 ? expects : `milliseconds, above 0 and at most ${maximum}`)];
}

function describe(
  path: string,
  value: unknown,
  expected: string,
  shown = typeof value === 'number' ? String(value) : `of type ${typeof value}`,
): string {
  return `${path} is ${shown}: expected ${expected}`;
}
