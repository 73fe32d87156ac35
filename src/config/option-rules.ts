/** What options demand of each other, one row a rule; asked only of options whose own values could be read. */
import { existsSync } from 'node:fs';
import type { BrokerUrls } from '../broker/broker-url.ts';
import type { Reading } from './format/formats.ts';
import { defaultEndpoint, readEndpoint } from './format/otlp-endpoint.ts';
import { flagOf, OPTIONS, type OptionKey, type OptionValues, optionRows } from './options.ts';

export interface OptionReader {
  /** The value of an option; undefined where it is unset or could not be read. */
  value<K extends OptionKey>(key: K): OptionValues[K] | undefined;
  /** The text of an option as it is, its default included; undefined where it is unset. */
  text(key: OptionKey): string | undefined;
  /** The flag, the variables or the line that gave it; undefined where its default or nothing did. */
  source(key: OptionKey): string | undefined;
  /** Whether something gave it, rather than its default. */
  isGiven(key: OptionKey): boolean;
}

export interface OptionRule {
  /** The option that is named in the mistake. */
  readonly path: OptionKey;
  /** What was expected of it; undefined where the rule holds. */
  readonly broken: (options: OptionReader) => string | undefined;
}

/** The resource attribute that names a service. */
export const SERVICE_NAME = 'service.name';

const ALL_SIGNALS = 'OTEL_EXPORTER_OTLP_ENDPOINT';

/** Of what is given beside a recording and is about a broker. */
export const NO_BROKER =
  'nothing beside a recording, of which it says nothing: leave it out, or listen to a broker';

/** Whether no broker is listened to. */
export function isRecorded(urls: BrokerUrls | undefined): boolean {
  return urls?.every(({ scheme }) => scheme === 'recording') === true;
}

/** Whoever gives such an option believes that it does something. */
const BROKER_ONLY: readonly OptionRule[] = optionRows()
  .filter(([, { transport }]) => transport !== undefined)
  .map(([path]) => ({
    path,
    broken: (options) =>
      isRecorded(options.value('broker_url')) && options.isGiven(path) && options.value(path) !== undefined
        ? NO_BROKER
        : undefined,
  }));

/** Where requests go, by the protocol; undefined where that could not be read. */
export function endpointOf(options: OptionReader): Reading<string> | undefined {
  const protocol = options.value('otlp_protocol');
  const text = options.value('otlp_endpoint');
  if (protocol === undefined) return undefined;
  if (text === undefined) return { ok: true, value: defaultEndpoint(protocol) };
  return readEndpoint(protocol, text, options.source('otlp_endpoint') === ALL_SIGNALS);
}

/** Without the one the other is of no use. */
function goesWith(path: OptionKey, other: OptionKey, what: string): OptionRule {
  return {
    path,
    broken: ({ isGiven }) =>
      isGiven(other) && !isGiven(path)
        ? `${OPTIONS[path].format.expects}, because there is ${what}`
        : undefined,
  };
}

/** It is at least the time after which a worker is not up. */
function noShorter(
  path: 'lost_timeout' | 'series_retention',
  isAsked: (options: OptionReader) => boolean,
): OptionRule {
  return {
    path,
    broken: (options) => {
      const [atLeast = 0, value = atLeast] = [options.value('worker_timeout'), options.value(path)];
      return value < atLeast && isAsked(options) ? `at least worker_timeout (${atLeast} s)` : undefined;
    },
  };
}

export const OPTION_RULES: readonly OptionRule[] = [
  ...BROKER_ONLY,
  {
    path: 'service_name',
    broken: (options) => {
      if (options.isGiven('service_name')) return undefined;
      // Attributes that cannot be read may have it: one mistake is enough.
      const attributes = options.value('resource_attributes');
      if (options.isGiven('resource_attributes') && attributes === undefined) return undefined;
      return (attributes?.get(SERVICE_NAME) ?? '') === ''
        ? 'a name, here or as service.name among the resource attributes'
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
  goesWith('otlp_client_key', 'otlp_client_certificate', 'a certificate'),
  goesWith('otlp_client_certificate', 'otlp_client_key', 'a key'),
  {
    path: 'metric_export_timeout',
    broken: (options) => {
      const intervalMs = options.value('metric_export_interval');
      const timeoutMs = options.value('metric_export_timeout');
      if (intervalMs === undefined || timeoutMs === undefined || timeoutMs <= intervalMs) return undefined;
      // The default gives way to a shorter interval, as in the SDK.
      return options.isGiven('metric_export_timeout') ? `at most the interval (${intervalMs} ms)` : undefined;
    },
  },
  // The default gives way to a longer worker_timeout.
  noShorter('lost_timeout', ({ isGiven }) => isGiven('lost_timeout')),
  noShorter('series_retention', () => true),
  {
    path: 'metrics_enabled',
    broken: (options) => {
      const disabled = options.value('metrics_disabled') ?? [];
      const both = (options.value('metrics_enabled') ?? []).filter((entry) => disabled.includes(entry));
      return both.length === 0 ? undefined : `none that metrics_disabled has too: ${both.join(', ')}`;
    },
  },
  {
    path: 'out',
    broken: (options) => {
      const file = options.value('out');
      if (file === undefined || options.value('force') === true || !existsSync(file)) return undefined;
      return `a file that is not there yet, or ${flagOf('force')}`;
    },
  },
];
