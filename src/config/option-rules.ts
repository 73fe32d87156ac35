/** The rules between options, one per row; they apply only to options whose own values are valid. */
import { existsSync } from 'node:fs';
import type { BrokerUrls } from '../broker/broker-url.ts';
import type { Reading } from './format/formats.ts';
import { defaultEndpoint, readEndpoint } from './format/otlp-endpoint.ts';
import { flagOf, OPTIONS, type OptionKey, type OptionValues, optionRows } from './options.ts';

export interface OptionReader {
  /** The value of an option; undefined if it is unset or invalid. */
  value<K extends OptionKey>(key: K): OptionValues[K] | undefined;
  /** The text of an option or its default; undefined if there is none. */
  text(key: OptionKey): string | undefined;
  /** The flag, variables or line that set it; undefined if none did. */
  source(key: OptionKey): string | undefined;
  /** Whether it was set, rather than left to its default. */
  isGiven(key: OptionKey): boolean;
}

export interface OptionRule {
  /** The option that the mistake is reported for. */
  readonly path: OptionKey;
  /** What was expected; undefined if the rule holds. */
  readonly broken: (options: OptionReader) => string | undefined;
}

/** The resource attribute that names a service. */
export const SERVICE_NAME = 'service.name';

const ALL_SIGNALS = 'OTEL_EXPORTER_OTLP_ENDPOINT';

/** For options of a broker that are set with a recording. */
export const NO_BROKER = 'no broker option with a recording: remove it, or listen to a broker';

/** Whether all addresses are recordings. */
export function isRecorded(urls: BrokerUrls | undefined): boolean {
  return urls?.every(({ scheme }) => scheme === 'recording') === true;
}

/** An option that has no effect is a mistake: the user expects one. */
const BROKER_ONLY: readonly OptionRule[] = optionRows()
  .filter(([, { transport }]) => transport !== undefined)
  .map(([path]) => ({
    path,
    broken: (options) =>
      isRecorded(options.value('broker_url')) && options.isGiven(path) && options.value(path) !== undefined
        ? NO_BROKER
        : undefined,
  }));

/** The endpoint; undefined if the protocol is invalid. */
export function endpointOf(options: OptionReader): Reading<string> | undefined {
  const protocol = options.value('otlp_protocol');
  const text = options.value('otlp_endpoint');
  if (protocol === undefined) return undefined;
  if (text === undefined) return { ok: true, value: defaultEndpoint(protocol) };
  return readEndpoint(protocol, text, options.source('otlp_endpoint') === ALL_SIGNALS);
}

/** `path` is required if `other` is set. */
function requiredWith(path: OptionKey, other: OptionKey, what: string): OptionRule {
  return {
    path,
    broken: ({ isGiven }) =>
      isGiven(other) && !isGiven(path)
        ? `${OPTIONS[path].format.expects}, because ${what} is set`
        : undefined,
  };
}

/** A timeout must not be shorter than `worker_timeout`. */
function atLeastWorkerTimeout(
  path: 'lost_timeout' | 'series_retention',
  applies: (options: OptionReader) => boolean,
): OptionRule {
  return {
    path,
    broken: (options) => {
      const [atLeast = 0, value = atLeast] = [options.value('worker_timeout'), options.value(path)];
      return value < atLeast && applies(options) ? `at least worker_timeout (${atLeast} s)` : undefined;
    },
  };
}

export const OPTION_RULES: readonly OptionRule[] = [
  ...BROKER_ONLY,
  {
    path: 'service_name',
    broken: (options) => {
      if (options.isGiven('service_name')) return undefined;
      // Invalid attributes may contain it: one mistake is enough.
      const attributes = options.value('resource_attributes');
      if (options.isGiven('resource_attributes') && attributes === undefined) return undefined;
      return (attributes?.get(SERVICE_NAME) ?? '') === ''
        ? 'a name, here or as service.name in the resource attributes'
        : undefined;
    },
  },
  {
    path: 'otlp_endpoint',
    broken: (options) => {
      const endpoint = endpointOf(options);
      return endpoint === undefined || endpoint.ok ? undefined : endpoint.expected;
    },
  },
  requiredWith('otlp_client_key', 'otlp_client_certificate', 'a certificate'),
  requiredWith('otlp_client_certificate', 'otlp_client_key', 'a key'),
  {
    path: 'metric_export_timeout',
    broken: (options) => {
      const intervalMs = options.value('metric_export_interval');
      const timeoutMs = options.value('metric_export_timeout');
      if (intervalMs === undefined || timeoutMs === undefined || timeoutMs <= intervalMs) return undefined;
      // The default is lowered to a shorter interval, as in the SDK.
      return options.isGiven('metric_export_timeout') ? `at most the interval (${intervalMs} ms)` : undefined;
    },
  },
  // The default is raised to a longer worker_timeout.
  atLeastWorkerTimeout('lost_timeout', ({ isGiven }) => isGiven('lost_timeout')),
  atLeastWorkerTimeout('series_retention', () => true),
  {
    path: 'metrics_enabled',
    broken: (options) => {
      const disabled = options.value('metrics_disabled') ?? [];
      const both = (options.value('metrics_enabled') ?? []).filter((entry) => disabled.includes(entry));
      return both.length === 0 ? undefined : `no names that are also in metrics_disabled: ${both.join(', ')}`;
    },
  },
  {
    path: 'out',
    broken: (options) => {
      const file = options.value('out');
      if (file === undefined || options.value('force') === true || !existsSync(file)) return undefined;
      return `a file that does not exist yet, or ${flagOf('force')}`;
    },
  },
];
