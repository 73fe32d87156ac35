/**
 * The values of options, and the rules between options. A rule is checked only if the values are valid. It returns what
 * was expected, and reports nothing itself.
 */
import { existsSync } from 'node:fs';
import type { OptionTarget } from '../broker/broker-kind.ts';
import type { BrokerUrl, BrokerUrls } from '../broker/broker-url.ts';
import { KINDS } from '../broker/kinds.ts';
import type { SignalName } from '../otlp/signal-paths.ts';
import type { Reading } from './format/formats.ts';
import { defaultEndpoint, type EndpointOf, readEndpoint } from './format/otlp-endpoint.ts';
import {
  flagOf,
  type KeyedRow,
  OPTIONS,
  type OptionBroker,
  type OptionKey,
  type OptionValues,
  TRANSPORT_OPTIONS,
} from './options.ts';

/** The text of an option and its origin: a flag, variables, or a line of a file, and the path in it. */
export interface Given {
  readonly path: string;
  readonly source: string;
  readonly text: string;
}

export type GivenTexts = ReadonlyMap<OptionKey, Given>;

export type Options = ReturnType<typeof optionsOf>;

/** @param rows the options with their defaults @param signal the signal for which the export options are read */
export function optionsOf(rows: readonly KeyedRow[], given: GivenTexts, signal: SignalName = 'metrics') {
  const defaults = new Map(rows.map(([key, row]) => [key, row.default]));
  /** The text of an option or its default; undefined if there is none. */
  const text = (key: OptionKey): string | undefined => given.get(key)?.text ?? defaults.get(key);
  /** The value of an option; undefined if it is unset or invalid. */
  function value<K extends OptionKey>(key: K): OptionValues[K] | undefined {
    const found = text(key);
    const reading = found === undefined ? undefined : OPTIONS[key].format.read(found);
    return reading?.ok === true ? reading.value : undefined;
  }
  /** The value of a validated option that is required or has a default. */
  function need<K extends OptionKey>(key: K): OptionValues[K] {
    const found = value(key);
    if (found === undefined)
      throw new Error(`option ${key} was read before it was checked, or has no default`);
    return found;
  }
  return {
    value,
    need,
    text,
    signal,
    /** The flag, variables or line of a file that set the option; undefined if it was not set. */
    source: (key: OptionKey) => given.get(key)?.source,
    /** Like `source`, with the text and the path. */
    origin: (key: OptionKey) => given.get(key),
    /** Whether the option was set, rather than left to its default. */
    isGiven: (key: OptionKey) => given.has(key),
  };
}

/** Returns what was expected instead; undefined if the rule holds. */
type Rule = (options: Options) => string | undefined;

/** The resource attribute that names a service. */
export const SERVICE_NAME = 'service.name';

/**
 * For some sources of an endpoint, the signals that it applies to; any other source applies to the signal that is read.
 */
const ENDPOINTS: ReadonlyMap<string, EndpointOf> = new Map([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'all'],
  [flagOf('otlp_endpoint'), 'metrics'],
]);

/** The addresses that options of a kind of broker are for, by their names in the rows. */
const TARGETS: ReadonlyMap<string, OptionTarget> = new Map(
  KINDS.flatMap(({ options }) => Object.entries<OptionTarget>(options)),
);

const ANY: OptionTarget = {
  schemes: KINDS.flatMap(({ isReplay, schemes }) => (isReplay ? [] : Object.keys(schemes))),
  unused: ['no broker option with a recording', 'remove it, or listen to a broker'],
  only: 'not with a recording',
};

/** The addresses that an option is for. */
export function targetOf(broker: OptionBroker): OptionTarget {
  return TARGETS.get(broker) ?? ANY;
}

/** Whether a broker of this kind is among the addresses. */
export function hasBroker(urls: readonly BrokerUrl[], broker: OptionBroker): boolean {
  return urls.some(({ scheme }) => targetOf(broker).schemes.includes(scheme));
}

/** Why an option for this kind of broker has no effect; undefined if it has one, or if the addresses are invalid. */
export function unusedWith(urls: BrokerUrls | undefined, broker: OptionBroker): string | undefined {
  if (urls === undefined || hasBroker(urls, broker)) return undefined;
  return targetOf(hasBroker(urls, 'any') ? broker : 'any').unused.join(': ');
}

/**
 * A warning about a variable of Celery, or a key of one of Celery’s maps, that is about another kind of broker. It is not a
 * mistake, because workers and celery-otel may share environments and maps. Undefined for other options.
 */
export function sharedButUnused(key: OptionKey, options: Options): string | undefined {
  const { transport } = OPTIONS[key];
  const { path = '', source = '' } = options.origin(key) ?? {};
  const isVariable = source.startsWith('CELERY_') && !source.startsWith('CELERY_OTEL_');
  const urls = options.value('broker_url');
  if (transport === undefined || unusedWith(urls, transport) === undefined) return undefined;
  const isRecording = urls !== undefined && !hasBroker(urls, 'any');
  const isInMap = path.includes(`${TRANSPORT_OPTIONS}.`) && !isRecording;
  if (!isVariable && !isInMap) return undefined;
  const name = path === key ? source : `${path} (${source})`;
  return `${name} has no effect: ${isRecording ? 'a recording has no broker' : targetOf(transport).unused[1]}`;
}

/** The endpoint of the signal, or what was expected instead; undefined if the protocol is invalid. */
export function endpointOf(options: Options): Reading<string> | undefined {
  const protocol = options.value('otlp_protocol');
  const text = options.value('otlp_endpoint');
  if (protocol === undefined) return undefined;
  const { signal } = options;
  if (text === undefined) return { ok: true, value: defaultEndpoint(protocol, signal) };
  return readEndpoint(protocol, text, ENDPOINTS.get(options.source('otlp_endpoint') ?? ''), signal);
}

/** Returns the rule that `key` is required if `other` is set. */
const requiredWith =
  (key: OptionKey, other: OptionKey, what: string): Rule =>
  ({ isGiven }) =>
    isGiven(other) && !isGiven(key) ? `${OPTIONS[key].format.expects}, because ${what} is set` : undefined;

/** A timeout must not be shorter than `worker_timeout`. */
function atLeastWorkerTimeout(key: 'lost_timeout' | 'series_retention', options: Options) {
  const [atLeast = 0, value = atLeast] = [options.value('worker_timeout'), options.value(key)];
  return value < atLeast ? `at least worker_timeout (${atLeast} s)` : undefined;
}

/** A queue must have room for a whole request. The default size of a request is lowered to that of a shorter queue. */
const atMostQueue =
  (key: 'bsp_max_export_batch_size' | 'blrp_max_export_batch_size', queue: OptionKey): Rule =>
  (options) => {
    const size = options.value(queue);
    const isMore = options.isGiven(key) && Number(options.value(key) ?? 0) > Number(size);
    return isMore ? `at most ${queue} (${size})` : undefined;
  };

/** The rules, by the option that the mistake is reported for. */
const RULES: Readonly<Partial<Record<OptionKey, Rule>>> = {
  service_name(options) {
    if (options.isGiven('service_name')) return undefined;
    // Invalid attributes, which are reported already, may contain the name.
    const attributes = options.value('resource_attributes');
    if (options.isGiven('resource_attributes') && attributes === undefined) return undefined;
    return (attributes?.get(SERVICE_NAME) ?? '') === ''
      ? 'a name, here or as service.name in the resource attributes'
      : undefined;
  },
  master_name({ isGiven, value }) {
    const isBehind = hasBroker(value('broker_url') ?? [], 'sentinel');
    return isBehind && !isGiven('master_name')
      ? `${OPTIONS.master_name.format.expects}, because broker_url has sentinel://`
      : undefined;
  },
  otlp_endpoint(options) {
    const endpoint = endpointOf(options);
    return endpoint === undefined || endpoint.ok ? undefined : endpoint.expected;
  },
  otlp_client_key: requiredWith('otlp_client_key', 'otlp_client_certificate', 'a certificate'),
  otlp_client_certificate: requiredWith('otlp_client_certificate', 'otlp_client_key', 'a key'),
  metric_export_timeout(options) {
    const intervalMs = options.value('metric_export_interval');
    const timeoutMs = options.value('metric_export_timeout');
    if (intervalMs === undefined || timeoutMs === undefined || timeoutMs <= intervalMs) return undefined;
    // The default is lowered to a shorter interval, as in the SDK.
    return options.isGiven('metric_export_timeout') ? `at most the interval (${intervalMs} ms)` : undefined;
  },
  bsp_max_export_batch_size: atMostQueue('bsp_max_export_batch_size', 'bsp_max_queue_size'),
  blrp_max_export_batch_size: atMostQueue('blrp_max_export_batch_size', 'blrp_max_queue_size'),
  // The variable may be meant for another program, with a sampler of its own.
  traces_sampler_arg({ value, source }) {
    const isFlag = source('traces_sampler_arg') === flagOf('traces_sampler_arg');
    const isUsed = value('traces_sampler')?.endsWith('traceidratio') ?? true;
    return isFlag && !isUsed ? 'traceidratio or parentbased_traceidratio as traces_sampler' : undefined;
  },
  // The default is raised to a longer worker_timeout.
  lost_timeout: (options) =>
    options.isGiven('lost_timeout') ? atLeastWorkerTimeout('lost_timeout', options) : undefined,
  series_retention: (options) => atLeastWorkerTimeout('series_retention', options),
  metrics_enabled(options) {
    const disabled = options.value('metrics_disabled') ?? [];
    const both = (options.value('metrics_enabled') ?? []).filter((entry) => disabled.includes(entry));
    return both.length === 0 ? undefined : `no names that are also in metrics_disabled: ${both.join(', ')}`;
  },
  status_token_file: ({ isGiven }) =>
    isGiven('status_token_file') && isGiven('status_token')
      ? 'no file, because status_token is set'
      : undefined,
  out(options) {
    const file = options.value('out');
    if (file === undefined || options.value('force') === true || !existsSync(file)) return undefined;
    return `a file that does not exist yet, or ${flagOf('force')}`;
  },
};

/** What is expected instead of an option that breaks a rule; undefined if all rules hold. */
export function brokenRule(key: OptionKey, options: Options): string | undefined {
  const { format, required, transport } = OPTIONS[key];
  if (required === true && !options.isGiven(key)) return format.expects;
  // An option without effect is a mistake, because the user expects an effect.
  if (transport !== undefined && options.isGiven(key) && options.value(key) !== undefined) {
    const unused = unusedWith(options.value('broker_url'), transport);
    if (unused !== undefined) return unused;
  }
  return RULES[key]?.(options);
}
