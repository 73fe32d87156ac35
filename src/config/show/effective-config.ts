/**
 * A configuration as text: every value of it under its path in a configuration file, with where it came from. It is made
 * from what the program will use, not from what was given, and shows no secret.
 */
import type { BrokerUrl } from '../../broker/broker-url.ts';
import { METRIC_NAMES } from '../../meter/catalog.ts';
import type { AggregationChoice, View } from '../../otlp/collect/view.ts';
import type { ExporterSettings, OtlpSettings } from '../../otlp/otlp-settings.ts';
import { printable } from '../../printable.ts';
import type { Config, ServiceConfig } from '../config.ts';
import { type FilePath, showPath } from '../file/file-path.ts';
import { MASK, maskUrl } from '../format/redaction.ts';
import { optInsOf } from '../metric-choice.ts';
import { SERVICE_NAME } from '../option-rules.ts';
import type { Origins } from '../origins.ts';

/** An undefined value is left out: nothing is set there. */
type Line = readonly [path: FilePath, value: unknown];

/** One line a value: `path: value  # origin`. */
export function effectiveConfig(config: Config, origins: Origins): string {
  const lines: readonly Line[] = [
    [['log_level'], config.logLevel],
    ...attributeLines(['resource', 'attributes'], config.self.attributes),
    [['celery', 'telemetry', 'enabled'], config.self.enabled],
    ...config.services.flatMap(serviceLines),
    ...otlpLines(config.otlp),
  ];
  return lines
    .flatMap(([path, value]) =>
      value === undefined ? [] : [`${showPath(path)}: ${textOf(value)}  # ${origins.of(path)}\n`],
    )
    .join('');
}

function serviceLines(service: ServiceConfig): readonly Line[] {
  const { broker, cluster, choice } = service;
  const at = (...path: FilePath): FilePath => ['celery', 'services', service.name, ...path];
  return [
    ...broker.urls.flatMap((url, index) => urlLines(at('broker_url', index), url)),
    [at('broker_failover_strategy'), broker.failoverStrategy],
    [at('broker_heartbeat'), broker.amqp.heartbeatS],
    [at('broker_connection_timeout'), broker.connectTimeoutMs / 1000],
    [at('event_exchange'), broker.amqp.eventExchange],
    [at('event_queue_prefix'), broker.amqp.eventQueuePrefix],
    [at('event_queue_bytes_max'), broker.amqp.eventQueueBytesMax],
    [at('control_exchange'), service.controlExchange],
    [at('task_default_queue'), service.taskDefaultQueue],
    [at('worker_timeout'), cluster.workerTimeoutMs / 1000],
    [at('lost_timeout'), cluster.lostTimeoutMs / 1000],
    [at('series_retention'), cluster.seriesRetentionMs / 1000],
    [at('tasks_max'), cluster.tasksMax],
    [at('workers_max'), cluster.workersMax],
    [at('reordering_window'), cluster.windowMs / 1000],
    [at('reordering_events_max'), cluster.heldMax],
    [at('skew_pairs_max'), cluster.skewPairsMax],
    [at('resource', SERVICE_NAME), service.name],
    ...attributeLines(at('resource'), service.attributes),
    ...METRIC_NAMES.flatMap((name): Line[] => {
      const asked = optInsOf(name).filter((optIn) => choice.optIns.has(optIn));
      const attributes = asked.map((optIn) => optIn.slice(name.length + 1));
      return [
        [at('metrics', name, 'enabled'), choice.metrics.has(name)],
        [at('metrics', name, 'attributes'), optInsOf(name).length === 0 ? undefined : attributes],
      ];
    }),
  ];
}

/** The label is all of an address that may be shown; what else it says has lines of its own. */
function urlLines(at: FilePath, url: BrokerUrl): readonly Line[] {
  if (url.scheme === 'recording') {
    return [
      [at, url.label],
      [[...at, 'speed'], url.speed],
    ];
  }
  const { tls } = url;
  return [
    [at, url.label],
    [[...at, 'heartbeat'], url.heartbeatS],
    [[...at, 'ssl', 'ca_certs'], tls?.caFile],
    [[...at, 'ssl', 'certfile'], tls?.certFile],
    [[...at, 'ssl', 'keyfile'], tls?.keyFile],
    [[...at, 'ssl', 'cert_reqs'], tls === undefined ? undefined : tls.verify ? 'required' : 'none'],
  ];
}

function attributeLines(at: FilePath, attributes: ServiceConfig['attributes']): readonly Line[] {
  return Object.entries(attributes).map(([key, value]) => [[...at, key], value] as const);
}

function otlpLines({ exporter, streams, schedule }: OtlpSettings): readonly Line[] {
  const reader: FilePath = ['meter_provider', 'readers', 0, 'periodic'];
  const at = [...reader, 'exporter', exporter.protocol === 'grpc' ? 'otlp_grpc' : 'otlp_http'];
  const limits = [...reader, 'cardinality_limits'];
  return [
    [[...reader, 'interval'], schedule.intervalMs],
    [[...reader, 'timeout'], schedule.timeoutMs],
    [[...reader, 'max_export_batch_size/development'], schedule.pointsPerRequestMax],
    ...exporterLines(at, exporter),
    [
      [...at, 'temporality_preference'],
      streams.temporality === 'lowmemory' ? 'low_memory' : streams.temporality,
    ],
    [[...at, 'default_histogram_aggregation'], streams.histograms],
    [[...limits, 'counter'], streams.limits.counter],
    [[...limits, 'histogram'], streams.limits.histogram],
    [[...limits, 'observable_gauge'], streams.limits.gauge],
    ...streams.views.flatMap((view, index) => viewLines(['meter_provider', 'views', index], view)),
  ];
}

function exporterLines(at: FilePath, exporter: ExporterSettings): readonly Line[] {
  return [
    [[...at, 'encoding'], exporter.protocol === 'grpc' ? undefined : exporter.protocol.slice('http/'.length)],
    [[...at, 'endpoint'], exporter.endpoint.replace(/\?.*$/s, `?${MASK}`)],
    [[...at, 'tls', 'ca_file'], exporter.certificateFile],
    [[...at, 'tls', 'cert_file'], exporter.clientCertificateFile],
    [[...at, 'tls', 'key_file'], exporter.clientKeyFile],
    [[...at, 'tls', 'insecure'], exporter.protocol === 'grpc' ? exporter.insecure : undefined],
    ...Object.keys(exporter.headers).map((name): Line => [[...at, 'headers', name], MASK]),
    [[...at, 'compression'], exporter.compression],
    [[...at, 'timeout'], exporter.timeoutMs],
  ];
}

function viewLines(at: FilePath, { selector, stream }: View): readonly Line[] {
  return [
    [[...at, 'selector', 'instrument_name'], selector.instrumentName],
    [[...at, 'selector', 'instrument_type'], selector.instrumentKind],
    [[...at, 'selector', 'unit'], selector.unit],
    [[...at, 'selector', 'meter_name'], selector.meterName],
    [[...at, 'selector', 'meter_version'], selector.meterVersion],
    [[...at, 'selector', 'meter_schema_url'], selector.meterSchemaUrl],
    [[...at, 'stream', 'name'], stream.name],
    [[...at, 'stream', 'description'], stream.description],
    ...aggregationLines([...at, 'stream', 'aggregation'], stream.aggregation),
    [[...at, 'stream', 'aggregation_cardinality_limit'], stream.cardinalityLimit],
    [[...at, 'stream', 'attribute_keys', 'included'], stream.attributeKeys?.included],
    [[...at, 'stream', 'attribute_keys', 'excluded'], stream.attributeKeys?.excluded],
  ];
}

function aggregationLines(at: FilePath, aggregation: AggregationChoice | undefined): readonly Line[] {
  if (aggregation === undefined) return [];
  const path = [...at, aggregation.kind];
  switch (aggregation.kind) {
    case 'explicit_bucket_histogram':
      return [
        [[...path, 'boundaries'], aggregation.boundaries],
        [[...path, 'record_min_max'], aggregation.recordMinMax],
      ];
    case 'base2_exponential_bucket_histogram':
      return [
        [[...path, 'max_scale'], aggregation.maxScale],
        [[...path, 'max_size'], aggregation.maxSize],
        [[...path, 'record_min_max'], aggregation.recordMinMax],
      ];
    case 'default':
    case 'drop':
    case 'sum':
    case 'last_value':
      return [[path, NO_SETTINGS]];
  }
}

/** A map that is there and empty. */
const NO_SETTINGS = Object.freeze([]);

/** As YAML has it, on one line. */
function textOf(value: unknown): string {
  if (value === NO_SETTINGS) return '{}';
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  if (typeof value !== 'string') return String(value);
  // An address that was put in the place of something else: whoever did so sees it, but not its password.
  if (/:\/\/[^/\s]*:(?!\*\*\*@)[^\s]*@/u.test(value)) return maskUrl(value);
  const isPlain = /^[a-z/](?:[\w./*@:+-]*[\w/*])?$/i.test(value) && !/^(?:true|false|null)$/i.test(value);
  return isPlain ? value : printable(JSON.stringify(value));
}
