/**
 * Builds the configuration of one Celery service from validated options and the settings of a file, and notes the origins. It
 * reads neither options nor files.
 */
import type { BrokerSettings } from '../broker/broker.ts';
import type { BrokerTls } from '../broker/broker-url.ts';
import { chooseMetrics, type MetricEntry } from '../meter/metric-choice.ts';
import type { ResourceAttributes } from '../otlp/resource.ts';
import type { ServiceConfig } from './config.ts';
import type { FileService } from './file/celery-section.ts';
import type { GivenAttribute, GivenAttributes } from './file/resource-section.ts';
import { type Options, SERVICE_NAME } from './option-rules.ts';
import { servicePath, serviceRows } from './options.ts';
import type { Origins } from './origins.ts';
import { settingsOf } from './settings.ts';

/**
 * The parts of a service’s configuration, collected while mistakes may still be found.
 * @param common attributes of all resources
 * @param metrics settings for all services
 * @param one an entry of `celery.services`; undefined: the options describe the only service
 * @param broker the broker as read with its maps
 */
export function serviceParts(
  options: Options,
  common: GivenAttributes,
  metrics: readonly MetricEntry[],
  one?: FileService,
  broker: FileService['broker'] | undefined = one?.broker,
) {
  const source = options.source('resource_attributes') ?? '';
  const own = [...(options.value('resource_attributes') ?? [])].map(
    ([key, value]) => [key, { value, source }] as const,
  );
  return {
    one,
    broker,
    options,
    attributes: new Map<string, GivenAttribute>([...common, ...own, ...(one?.resource ?? [])]),
    /** Highest precedence first. */
    metrics: [one?.metrics ?? metricEntries(options), metrics],
  };
}

export function serviceConfig(parts: ReturnType<typeof serviceParts>, origins: Origins): ServiceConfig {
  const { one, broker: read, options, attributes } = parts;
  const name = one?.name ?? options.value('service_name') ?? String(attributes.get(SERVICE_NAME)?.value);
  const broker = brokerSettings(options, read?.urls, read?.sentinelTls);
  const [cluster, keys] = [settingsOf(options, 'cluster'), settingsOf(options, 'polls.redis')];
  const chosen = chooseMetrics(parts.metrics);
  const at = ['celery', 'services', name];
  for (const [key] of serviceRows()) origins.note([...at, ...servicePath(key)], options.source(key));
  for (const [index, url] of broker.urls.entries()) {
    // An address with its own TLS settings does not use those of `broker_use_ssl`.
    const isSetting = url.scheme !== 'recording' && url.tls !== undefined && url.tls === read?.tls;
    origins.note([...at, 'broker_url', index, 'ssl'], isSetting ? read?.source : undefined);
  }
  for (const [key, { source }] of attributes) origins.note([...at, 'resource', key], source);
  origins.note([...at, 'resource', SERVICE_NAME], one?.place.source ?? options.source('service_name'));
  for (const { name: metric, enabledBy, optInsBy } of chosen) {
    origins.note([...at, 'metrics', metric, 'enabled'], enabledBy);
    origins.note([...at, 'metrics', metric, 'attributes'], optInsBy);
  }
  return {
    name,
    attributes: withoutName(attributes),
    broker,
    ...settingsOf(options, ''),
    polls: {
      ...settingsOf(options, 'polls'),
      redis: { ...keys, separator: keys.separator === 'auto' ? undefined : keys.separator },
    },
    control: settingsOf(options, 'control'),
    // The default of `lost_timeout` is raised to a longer `worker_timeout`.
    cluster: { ...cluster, lostTimeoutMs: Math.max(cluster.lostTimeoutMs, cluster.workerTimeoutMs) },
    choice: {
      metrics: new Set(chosen.flatMap(({ name: metric, isEnabled }) => (isEnabled ? [metric] : []))),
      optIns: new Set(chosen.flatMap(({ optIns }) => optIns)),
    },
  };
}

/** The attributes without `service.name`. fromEntries defines own properties, even for a key like __proto__. */
export function withoutName(given: GivenAttributes): ResourceAttributes {
  const others = [...given].filter(([key]) => key !== SERVICE_NAME);
  return Object.fromEntries(others.map(([key, { value }]) => [key, value]));
}

/**
 * @param urls with the TLS settings of the file, if any
 * @param sentinelTls of the file's `sentinel_kwargs`
 */
export function brokerSettings(
  options: Options,
  urls = options.need('broker_url'),
  sentinelTls?: BrokerTls,
): BrokerSettings {
  return {
    urls,
    ...settingsOf(options, 'broker'),
    amqp: settingsOf(options, 'broker.amqp'),
    redis: {
      ...settingsOf(options, 'broker.redis'),
      sentinel: { ...settingsOf(options, 'broker.redis.sentinel'), tls: sentinelTls },
    },
  };
}

/** The options about metrics, as entries. */
function metricEntries(options: Options): readonly MetricEntry[] {
  const switches = (key: 'metrics_disabled' | 'metrics_enabled', enabled: boolean): readonly MetricEntry[] =>
    (options.value(key) ?? []).map((name) => ({ name, enabled, source: options.source(key) ?? key }));
  const optInsByMetric = Map.groupBy(options.value('metric_attributes_enabled') ?? [], (optIn) =>
    optIn.split('/', 1).join(),
  );
  return [
    ...switches('metrics_disabled', false),
    ...switches('metrics_enabled', true),
    ...[...optInsByMetric].map(([name, optIns]) => ({
      name,
      attributes: optIns.map((optIn) => optIn.slice(name.length + 1)),
      source: options.source('metric_attributes_enabled') ?? name,
    })),
  ];
}
