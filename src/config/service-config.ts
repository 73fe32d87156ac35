/** Builds the configuration of one Celery service from validated options and the settings of a file, and notes their origins. */
import type { BrokerSettings } from '../broker/broker.ts';
import type { BrokerTls, BrokerUrls } from '../broker/broker-url.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import type { ResourceAttributes } from '../otlp/resource.ts';
import type { ServiceConfig } from './config.ts';
import type { GivenAttributes } from './file/resource-section.ts';
import { chooseMetrics, type MetricEntry } from './metric-choice.ts';
import { SERVICE_NAME } from './option-rules.ts';
import { type OptionKey, serviceRows } from './options.ts';
import type { Origins } from './origins.ts';
import type { Options } from './read-options.ts';

export interface ServiceParts {
  readonly name: string;
  /** The origin of the name. */
  readonly named: string | undefined;
  readonly options: Options;
  /** With `broker_use_ssl`; undefined: those of the options. */
  readonly urls: BrokerUrls | undefined;
  /** `broker_use_ssl`, which only a file can have. */
  readonly tls: BrokerTls | undefined;
  readonly tlsSource: string | undefined;
  readonly attributes: GivenAttributes;
  /** By precedence, highest first. */
  readonly metrics: readonly (readonly MetricEntry[])[];
}

export function serviceConfig(parts: ServiceParts, origins: Origins): ServiceConfig {
  const { name, options, tls } = parts;
  const broker = brokerSettings(options, parts.urls);
  const chosen = chooseMetrics(parts.metrics);
  const at = ['celery', 'services', name];
  for (const [key] of serviceRows()) origins.note([...at, key], options.source(key));
  for (const [index, url] of broker.urls.entries()) {
    // An address may have TLS settings of its own.
    const isSetting = url.scheme !== 'recording' && url.tls !== undefined && url.tls === tls;
    if (isSetting) origins.note([...at, 'broker_url', index, 'ssl'], parts.tlsSource);
  }
  origins.note([...at, 'resource', SERVICE_NAME], parts.named);
  for (const [key, { source }] of parts.attributes) origins.note([...at, 'resource', key], source);
  for (const { name: metric, enabledBy, optInsBy } of chosen) {
    origins.note([...at, 'metrics', metric, 'enabled'], enabledBy);
    origins.note([...at, 'metrics', metric, 'attributes'], optInsBy);
  }
  return {
    name,
    attributes: plainAttributes(parts.attributes),
    broker,
    controlExchange: options.need('control_exchange'),
    taskDefaultQueue: options.need('task_default_queue'),
    cluster: clusterSettings(options),
    choice: {
      metrics: new Set(chosen.flatMap(({ name: metric, isEnabled }) => (isEnabled ? [metric] : []))),
      optIns: new Set(chosen.flatMap(({ optIns }) => optIns)),
    },
  };
}

/** fromEntries defines own properties, even for a key like __proto__. */
export function plainAttributes(given: GivenAttributes): ResourceAttributes {
  return Object.fromEntries([...given].map(([key, { value }]) => [key, value]));
}

/** @param urls with the settings of the file, if any */
export function brokerSettings(options: Options, urls = options.need('broker_url')): BrokerSettings {
  return {
    urls,
    failoverStrategy: options.need('broker_failover_strategy'),
    connectTimeoutMs: milliseconds(options.need('broker_connection_timeout')),
    amqp: {
      eventExchange: options.need('event_exchange'),
      eventQueuePrefix: options.need('event_queue_prefix'),
      eventQueueBytesMax: options.need('event_queue_bytes_max'),
      heartbeatS: options.need('broker_heartbeat'),
    },
  };
}

function clusterSettings(options: Options): ClusterSettings {
  return {
    tasksMax: options.need('tasks_max'),
    workersMax: options.need('workers_max'),
    workerTimeoutMs: milliseconds(options.need('worker_timeout')),
    lostTimeoutMs: milliseconds(Math.max(options.need('lost_timeout'), options.need('worker_timeout'))),
    seriesRetentionMs: milliseconds(options.need('series_retention')),
    windowMs: milliseconds(options.need('reordering_window')),
    heldMax: options.need('reordering_events_max'),
    skewPairsMax: options.need('skew_pairs_max'),
  };
}

/** The metric options, as entries. */
export function metricEntries(options: Options): readonly MetricEntry[] {
  const sourceOf = (key: OptionKey): string => options.source(key) ?? key;
  const switches = (key: 'metrics_disabled' | 'metrics_enabled', enabled: boolean): readonly MetricEntry[] =>
    (options.value(key) ?? []).map((name) => ({ name, enabled, source: sourceOf(key) }));
  const asked = Map.groupBy(options.value('metric_attributes_enabled') ?? [], (optIn) =>
    optIn.split('/', 1).join(),
  );
  return [
    ...switches('metrics_disabled', false),
    ...switches('metrics_enabled', true),
    ...[...asked].map(([name, optIns]) => ({
      name,
      attributes: optIns.map((optIn) => optIn.slice(name.length + 1)),
      source: sourceOf('metric_attributes_enabled'),
    })),
  ];
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}
