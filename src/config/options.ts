/**
 * The table of options: one row each, from which flags, environment variables, keys of the configuration file, its JSON
 * schema, checks, defaults, `--help` and the table in docs/configuration.md derive. A default is a text and passes the same check as
 * what a user writes.
 */
import { LOG_LEVELS } from '../self/log-level.ts';
import {
  brokerUrls,
  type Format,
  filePath,
  line,
  oneOf,
  seconds,
  trueOrFalse,
  wholeNumber,
} from './format/formats.ts';
import { attributeList, headerList } from './format/key-value-list.ts';
import { metricList } from './format/metric-list.ts';
import { optInList } from './format/opt-in-list.ts';
import { OTLP_PROTOCOLS, otlpAddress } from './format/otlp-endpoint.ts';
import { certificateFile, keyFile } from './format/pem-file.ts';

/** The commands that have options. */
export type OptionCommand = 'run' | 'config' | 'record' | 'metrics';

/**
 * What an option is about: the process; how a cluster is kept, which a configuration file says for all services or for
 * one; one service; the export, which a file says in the sections of the standard; or a command itself.
 */
export type OptionScope = 'process' | 'cluster' | 'service' | 'export' | 'command';

export interface OptionRow<T> {
  /** One sentence with the unit. */
  readonly doc: string;
  readonly format: Format<T>;
  readonly flag: `--${string}`;
  /** Names of environment variables; the first one that is set wins, unless `merged`. */
  readonly env: readonly string[];
  readonly commands: readonly OptionCommand[];
  readonly scope: OptionScope;
  /**
   * Where a configuration file has it, unless that is under its own key in `celery` (scope `cluster`) or in each of
   * `celery.services`. NAME stands for the name of a service, EXPORTER for `otlp_grpc` or `otlp_http`.
   */
  readonly file?: string;
  /** Used where nothing is given; without it the option is unset. */
  readonly default?: string;
  /** Without a value nothing starts. */
  readonly required?: true;
  /** Its value is never printed, beyond what its format's `show` lets through. */
  readonly secret?: true;
  /** A list to which all sources contribute; the preferred source wins key by key. */
  readonly merged?: true;
  /** Says something of a live broker only: given beside a recording, it is a mistake. */
  readonly brokerOnly?: true;
}

const DAY_S = 86_400;
const DAY_MS = DAY_S * 1000;
const HOUR_S = 3600;
const HOUR_MS = HOUR_S * 1000;
const MIB = 1024 * 1024;

/** The part of an AMQP name that is left beside the id that is put after it. */
const QUEUE_PREFIX_BYTES_MAX = 200;
/** Here beside what Celery puts before and after it. */
const CONTROL_EXCHANGE_BYTES_MAX = 200;

const BOTH = ['run', 'record'] as const;
const RUN = ['run'] as const;
const RECORD = ['record'] as const;
const METRICS = ['metrics'] as const;
const CONFIG = ['config'] as const;

/** The two environment variables of an OTLP option: the one for metrics wins over the one for all signals. */
function otlpEnv(name: string): readonly string[] {
  return [`OTEL_EXPORTER_OTLP_METRICS_${name}`, `OTEL_EXPORTER_OTLP_${name}`];
}

const READER = 'meter_provider.readers[0].periodic';
const EXPORTER = `${READER}.exporter.EXPORTER`;

function option<T>(row: OptionRow<T>): OptionRow<T> {
  return row;
}

const ROWS = {
  config: option({
    doc: 'Configuration file, an OpenTelemetry declarative configuration with a section `celery`.',
    format: filePath,
    flag: '--config',
    env: ['OTEL_CONFIG_FILE'],
    commands: RUN,
    scope: 'command',
  }),
  broker_url: option({
    doc: "Address of the cluster's broker, as in Celery; several are separated by `;` and tried in turn.",
    format: brokerUrls,
    flag: '--broker-url',
    env: ['CELERY_BROKER_URL'],
    commands: BOTH,
    scope: 'service',
    required: true,
    secret: true,
  }),
  broker_failover_strategy: option({
    doc: 'Order in which several broker addresses are tried.',
    format: oneOf(['round-robin', 'shuffle']),
    flag: '--broker-failover-strategy',
    env: ['CELERY_BROKER_FAILOVER_STRATEGY'],
    commands: BOTH,
    scope: 'service',
    brokerOnly: true,
    default: 'round-robin',
  }),
  broker_heartbeat: option({
    doc: 'Seconds between AMQP heartbeats; the broker may lower it, and 0 switches heartbeats off.',
    format: wholeNumber(0, 65_535, 'seconds'),
    flag: '--broker-heartbeat',
    env: ['CELERY_BROKER_HEARTBEAT'],
    commands: BOTH,
    scope: 'service',
    brokerOnly: true,
    default: '30',
  }),
  broker_connection_timeout: option({
    doc: 'Seconds to wait for a connection to the broker.',
    format: seconds(300),
    flag: '--broker-connection-timeout',
    env: ['CELERY_BROKER_CONNECTION_TIMEOUT'],
    commands: BOTH,
    scope: 'service',
    brokerOnly: true,
    default: '5',
  }),
  event_exchange: option({
    doc: "Exchange of the events, as in Celery's own setting.",
    format: line(255),
    flag: '--event-exchange',
    env: ['CELERY_EVENT_EXCHANGE'],
    commands: BOTH,
    scope: 'service',
    brokerOnly: true,
    default: 'celeryev',
  }),
  event_queue_prefix: option({
    doc: "Prefix of the name of the queue that is declared for the events, as in Celery's own setting.",
    format: line(QUEUE_PREFIX_BYTES_MAX),
    flag: '--event-queue-prefix',
    env: ['CELERY_EVENT_QUEUE_PREFIX'],
    commands: BOTH,
    scope: 'service',
    brokerOnly: true,
    default: 'celeryev',
  }),
  event_queue_bytes_max: option({
    doc: 'Maximum size of the event queue in bytes; beyond it the broker drops the oldest events.',
    format: wholeNumber(MIB, 64 * 1024 * MIB, 'bytes'),
    flag: '--event-queue-bytes-max',
    env: ['CELERY_OTEL_EVENT_QUEUE_BYTES_MAX'],
    commands: BOTH,
    scope: 'service',
    brokerOnly: true,
    default: String(64 * MIB),
  }),
  control_exchange: option({
    doc: "Prefix of the names of the remote-control exchanges, as in Celery's own setting; not used yet.",
    format: line(CONTROL_EXCHANGE_BYTES_MAX),
    flag: '--control-exchange',
    env: ['CELERY_CONTROL_EXCHANGE'],
    commands: RUN,
    scope: 'service',
    brokerOnly: true,
    default: 'celery',
  }),
  task_default_queue: option({
    doc: "Queue of tasks that are sent without a queue, as in Celery's own setting; not used yet.",
    format: line(255),
    flag: '--task-default-queue',
    env: ['CELERY_TASK_DEFAULT_QUEUE'],
    commands: RUN,
    scope: 'service',
    brokerOnly: true,
    default: 'celery',
  }),
  worker_timeout: option({
    doc: 'Seconds of silence after which a worker is no longer up.',
    format: seconds(DAY_S),
    flag: '--worker-timeout',
    env: ['CELERY_OTEL_WORKER_TIMEOUT'],
    commands: RUN,
    scope: 'cluster',
    default: '30',
  }),
  lost_timeout: option({
    doc: 'Seconds of silence after which the running tasks of a worker are counted as lost, unless its death is proved earlier; at least `worker_timeout`.',
    format: seconds(DAY_S),
    flag: '--lost-timeout',
    env: ['CELERY_OTEL_LOST_TIMEOUT'],
    commands: RUN,
    scope: 'cluster',
    default: '120',
  }),
  series_retention: option({
    doc: 'Seconds after which a worker that is gone is forgotten, and an idle series of a full metric may make room for a new one; at least `worker_timeout`.',
    format: seconds(30 * DAY_S),
    flag: '--series-retention',
    env: ['CELERY_OTEL_SERIES_RETENTION'],
    commands: RUN,
    scope: 'cluster',
    default: '600',
  }),
  tasks_max: option({
    doc: 'Maximum number of tasks to remember, with 1,280 bytes for each; beyond either limit the oldest are forgotten, finished ones first.',
    format: wholeNumber(1, 10_000_000),
    flag: '--tasks-max',
    env: ['CELERY_OTEL_TASKS_MAX'],
    commands: RUN,
    scope: 'cluster',
    default: '100000',
  }),
  workers_max: option({
    doc: 'Maximum number of workers to remember, with 12 kB for each; beyond either limit the one silent for longest is forgotten.',
    format: wholeNumber(1, 1_000_000),
    flag: '--workers-max',
    env: ['CELERY_OTEL_WORKERS_MAX'],
    commands: RUN,
    scope: 'cluster',
    default: '10000',
  }),
  reordering_window: option({
    doc: 'Seconds for which events are held back, so that they are counted in the order in which they happened.',
    format: seconds(HOUR_S),
    flag: '--reordering-window',
    env: ['CELERY_OTEL_REORDERING_WINDOW'],
    commands: RUN,
    scope: 'cluster',
    default: '1',
  }),
  reordering_events_max: option({
    doc: 'Maximum number of events to hold back, with 1 KiB for each; beyond either limit the one that arrived first is counted early.',
    format: wholeNumber(1, 10_000_000),
    flag: '--reordering-events-max',
    env: ['CELERY_OTEL_REORDERING_EVENTS_MAX'],
    commands: RUN,
    scope: 'cluster',
    default: '100000',
  }),
  skew_pairs_max: option({
    doc: 'Maximum number of host pairs with different clocks to report by name; others are reported as `other`.',
    format: wholeNumber(1, 100_000),
    flag: '--skew-pairs-max',
    env: ['CELERY_OTEL_SKEW_PAIRS_MAX'],
    commands: RUN,
    scope: 'cluster',
    default: '100',
  }),
  service_name: option({
    doc: '`service.name` of the exported metrics; required unless `resource_attributes` has it, and wins over that one.',
    format: line(255),
    flag: '--service-name',
    env: ['OTEL_SERVICE_NAME'],
    commands: RUN,
    scope: 'service',
    file: 'celery.services',
  }),
  resource_attributes: option({
    doc: 'More resource attributes of the exported metrics, `key=value,key=value`, percent-encoded.',
    format: attributeList,
    flag: '--resource-attributes',
    env: ['OTEL_RESOURCE_ATTRIBUTES'],
    commands: RUN,
    scope: 'service',
    file: 'celery.services.NAME.resource',
  }),
  metrics_disabled: option({
    doc: 'Metrics that are switched off, besides those that are off by default.',
    format: metricList,
    flag: '--disable-metrics',
    env: ['CELERY_OTEL_METRICS_DISABLED'],
    commands: RUN,
    scope: 'service',
    file: 'celery.services.NAME.metrics',
  }),
  metrics_enabled: option({
    doc: 'Metrics that are switched on; the more specific name of `metrics_enabled` and `metrics_disabled` decides.',
    format: metricList,
    flag: '--enable-metrics',
    env: ['CELERY_OTEL_METRICS_ENABLED'],
    commands: RUN,
    scope: 'service',
    file: 'celery.services.NAME.metrics',
  }),
  metric_attributes_enabled: option({
    doc: 'Opt-in attributes that are added to the points of a metric.',
    format: optInList,
    flag: '--enable-attributes',
    env: ['CELERY_OTEL_ATTRIBUTES_ENABLED'],
    commands: RUN,
    scope: 'service',
    file: 'celery.services.NAME.metrics',
  }),
  otlp_endpoint: option({
    doc: 'Address of the OTLP backend; `https:` means TLS, `http:` means none. Over HTTP it is the whole URL, except that `v1/metrics` is appended to `OTEL_EXPORTER_OTLP_ENDPOINT`. By default `http://localhost:4317`, over HTTP `http://localhost:4318/v1/metrics`.',
    format: otlpAddress,
    flag: '--otlp-endpoint',
    env: otlpEnv('ENDPOINT'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.endpoint`,
  }),
  otlp_protocol: option({
    doc: 'OTLP protocol.',
    format: oneOf(OTLP_PROTOCOLS),
    flag: '--otlp-protocol',
    env: otlpEnv('PROTOCOL'),
    commands: RUN,
    scope: 'export',
    file: `${READER}.exporter`,
    default: 'grpc',
  }),
  otlp_headers: option({
    doc: 'Headers of every request, `key=value,key=value`, percent-encoded; headers from several sources are merged.',
    format: headerList,
    flag: '--otlp-headers',
    env: otlpEnv('HEADERS'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.headers`,
    secret: true,
    merged: true,
  }),
  otlp_insecure: option({
    doc: 'Whether an endpoint without a scheme is used without TLS.',
    format: trueOrFalse,
    flag: '--otlp-insecure',
    env: otlpEnv('INSECURE'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.tls.insecure`,
    default: 'false',
  }),
  otlp_certificate: option({
    doc: "PEM file with the certificates to trust instead of the system's.",
    format: certificateFile,
    flag: '--otlp-certificate',
    env: otlpEnv('CERTIFICATE'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.tls.ca_file`,
  }),
  otlp_client_certificate: option({
    doc: 'PEM file with the client certificate; requires `otlp_client_key`.',
    format: certificateFile,
    flag: '--otlp-client-certificate',
    env: otlpEnv('CLIENT_CERTIFICATE'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.tls.cert_file`,
  }),
  otlp_client_key: option({
    doc: 'PEM file with the private key of `otlp_client_certificate`.',
    format: keyFile,
    flag: '--otlp-client-key',
    env: otlpEnv('CLIENT_KEY'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.tls.key_file`,
  }),
  otlp_compression: option({
    doc: 'Compression of the requests.',
    format: oneOf(['gzip', 'none']),
    flag: '--otlp-compression',
    env: otlpEnv('COMPRESSION'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.compression`,
    default: 'none',
  }),
  otlp_timeout: option({
    doc: 'Milliseconds that a request may take.',
    format: wholeNumber(1, HOUR_MS, 'milliseconds'),
    flag: '--otlp-timeout',
    env: otlpEnv('TIMEOUT'),
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.timeout`,
    default: '10000',
  }),
  otlp_temporality_preference: option({
    doc: 'Temporality of sums and histograms: totals (`cumulative`) or differences (`delta`, `lowmemory`).',
    format: oneOf(['cumulative', 'delta', 'lowmemory'], { anyCase: true }),
    flag: '--otlp-temporality-preference',
    env: ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'],
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.temporality_preference`,
    default: 'cumulative',
  }),
  otlp_default_histogram_aggregation: option({
    doc: 'Whether histograms have the explicit buckets of docs/metrics.md, or exponential ones.',
    format: oneOf(['explicit_bucket_histogram', 'base2_exponential_bucket_histogram'], { anyCase: true }),
    flag: '--otlp-default-histogram-aggregation',
    env: ['OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION'],
    commands: RUN,
    scope: 'export',
    file: `${EXPORTER}.default_histogram_aggregation`,
    default: 'explicit_bucket_histogram',
  }),
  metric_export_interval: option({
    doc: 'Milliseconds between two exports.',
    format: wholeNumber(1, DAY_MS, 'milliseconds'),
    flag: '--metric-export-interval',
    env: ['OTEL_METRIC_EXPORT_INTERVAL'],
    commands: RUN,
    scope: 'export',
    file: `${READER}.interval`,
    default: '60000',
  }),
  metric_export_timeout: option({
    doc: 'Milliseconds that each request of an export may take, if `otlp_timeout` is longer; at most `metric_export_interval`, to which the default is lowered. An export of many requests goes on as long as they are answered.',
    format: wholeNumber(1, DAY_MS, 'milliseconds'),
    flag: '--metric-export-timeout',
    env: ['OTEL_METRIC_EXPORT_TIMEOUT'],
    commands: RUN,
    scope: 'export',
    file: `${READER}.timeout`,
    default: '30000',
  }),
  log_level: option({
    doc: 'Lowest level of the log lines on stderr.',
    format: oneOf(LOG_LEVELS, { anyCase: true }),
    flag: '--log-level',
    env: ['LOG_LEVEL'],
    commands: BOTH,
    scope: 'process',
    file: 'log_level',
    default: 'info',
  }),
  self_telemetry: option({
    doc: 'Whether the metrics about celery-otel itself are exported too.',
    format: trueOrFalse,
    flag: '--self-telemetry',
    env: ['CELERY_OTEL_SELF_TELEMETRY'],
    commands: RUN,
    scope: 'process',
    file: 'celery.telemetry.enabled',
    default: 'true',
  }),
  example: option({
    doc: 'Print an example of a configuration file instead.',
    format: trueOrFalse,
    flag: '--example',
    env: [],
    commands: CONFIG,
    scope: 'command',
    default: 'false',
  }),
  schema: option({
    doc: 'Print the JSON schema of the section `celery` instead.',
    format: trueOrFalse,
    flag: '--schema',
    env: [],
    commands: CONFIG,
    scope: 'command',
    default: 'false',
  }),
  out: option({
    doc: 'File to write; only its owner may read it.',
    format: filePath,
    flag: '--out',
    env: [],
    commands: RECORD,
    scope: 'command',
    required: true,
  }),
  force: option({
    doc: 'Replace the file of `--out` if it exists; a symbolic link is replaced itself, not its target.',
    format: trueOrFalse,
    flag: '--force',
    env: [],
    commands: RECORD,
    scope: 'command',
    default: 'false',
  }),
  format: option({
    doc: 'Output format: Markdown or JSON.',
    format: oneOf(['md', 'json']),
    flag: '--format',
    env: [],
    commands: METRICS,
    scope: 'command',
    default: 'md',
  }),
} as const;

type ValueOf<R> = R extends OptionRow<infer T> ? T : never;

/** Key of an option → type of its value. */
export type OptionValues = { readonly [K in keyof typeof ROWS]: ValueOf<(typeof ROWS)[K]> };
export type OptionKey = keyof OptionValues;

export const OPTIONS: { readonly [K in OptionKey]: OptionRow<OptionValues[K]> } = ROWS;

export type KeyedRow = readonly [OptionKey, OptionRow<unknown>];

/** The rows in the order of the table, each with its key; those of one command where it is given. */
export function optionRows(command?: OptionCommand): readonly KeyedRow[] {
  return OPTION_KEYS.map((key) => [key, OPTIONS[key]] as const).filter(
    ([, row]) => command === undefined || takes(command, row),
  );
}

/** `config` says what `run` would do, so it takes all that `run` takes. */
function takes(command: OptionCommand, { commands }: OptionRow<unknown>): boolean {
  return commands.includes(command) || (command === 'config' && commands.includes('run'));
}

/** The value of an option that has a default, where nothing else is given. */
export function defaultOf<K extends OptionKey>(key: K): OptionValues[K] {
  const row: OptionRow<OptionValues[K]> = OPTIONS[key];
  const reading = row.format.read(row.default ?? '');
  if (!reading.ok) throw new Error(`option ${key} has no default`);
  return reading.value;
}

/** Where a configuration file has an option; undefined where it has not. */
export function fileOf(key: OptionKey): string | undefined {
  const { scope, file } = OPTIONS[key];
  switch (scope) {
    case 'cluster':
      return `celery.${key}`;
    case 'service':
      return file ?? `celery.services.NAME.${key}`;
    default:
      return file;
  }
}

/** The options that a service has under their own keys in a configuration file. */
export function serviceRows(): readonly KeyedRow[] {
  return optionRows('run').filter(
    ([, { scope, file }]) => scope === 'cluster' || (scope === 'service' && file === undefined),
  );
}

export function isOptionKey(key: string): key is OptionKey {
  return Object.hasOwn(ROWS, key);
}

const OPTION_KEYS: readonly OptionKey[] = Object.keys(ROWS).filter(isOptionKey);
