/** Checked options → the slices of the rooms, in their shapes and units. Where the options came from is not its business. */
import type { BrokerSettings } from '../broker/broker.ts';
import { type BrokerTls, type BrokerUrls, parseBrokerUrls } from '../broker/broker-url.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import type { MetricEntry } from './metric-choice.ts';
import type { Options } from './read-options.ts';

/** @param tls `broker_use_ssl`, which only a file has */
export function brokerSettings(options: Options, tls?: BrokerTls): BrokerSettings {
  return {
    urls: tls === undefined ? options.need('broker_url') : urlsWithTls(options, tls),
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

function urlsWithTls(options: Options, tls: BrokerTls): BrokerUrls {
  const parsed = parseBrokerUrls(options.text('broker_url') ?? '', tls);
  if (!parsed.ok) throw new Error('a broker address that was right without TLS is wrong with it');
  return parsed.urls;
}

export function clusterSettings(options: Options): ClusterSettings {
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

/** What the options say of metrics, for the one service there is without `celery.services`. */
export function metricEntries(options: Options): readonly MetricEntry[] {
  const nothing = { enabled: undefined, attributes: undefined };
  const switches = (key: 'metrics_disabled' | 'metrics_enabled', enabled: boolean): readonly MetricEntry[] =>
    (options.value(key) ?? []).map((name) => ({
      ...nothing,
      name,
      enabled,
      source: options.source(key) ?? key,
    }));
  const asked = Map.groupBy(options.value('metric_attributes_enabled') ?? [], (optIn) =>
    optIn.split('/', 1).join(),
  );
  const source = options.source('metric_attributes_enabled') ?? 'metric_attributes_enabled';
  return [
    ...switches('metrics_disabled', false),
    ...switches('metrics_enabled', true),
    ...[...asked].map(([name, optIns]) => ({
      ...nothing,
      name,
      attributes: optIns.map((optIn) => optIn.slice(name.length + 1)),
      source,
    })),
  ];
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}
