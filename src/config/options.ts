/**
 * The table of options, one row each. Flags, environment variables, keys of the configuration file, its JSON schema, checks,
 * defaults, `--help` and the tables in the documents derive from it. A default is a text, checked like a value of the user. It
 * reads nothing.
 */
import { LOGIN_METHODS } from '../broker/broker-url.ts';
import type { KindOption } from '../broker/kinds.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import { SIGNAL_NAMES, type SignalName } from '../otlp/signal-paths.ts';
import type {
  ExemplarFilter,
  LogsConfig,
  SelfTelemetryConfig,
  ServiceConfig,
  StatusConfig,
  TracesConfig,
} from './config.ts';
import {
  brokerUrls,
  clientName,
  type Format,
  filePath,
  heartbeat,
  line,
  logLevel,
  oneOf,
  ratio,
  seconds,
  secondsOrNone,
  secondsOrOff,
  secret,
  switchOr,
  trueOrFalse,
  wholeNumber,
} from './format/formats.ts';
import { inspectCommands } from './format/inspect-commands.ts';
import { attributeList, headerList } from './format/key-value-list.ts';
import { listenAddress } from './format/listen-address.ts';
import { managementUrl } from './format/management-url.ts';
import { metricList, optInList } from './format/metric-list.ts';
import { OTLP_PROTOCOLS, otlpAddress } from './format/otlp-endpoint.ts';
import { certificateFile, keyFile } from './format/pem-file.ts';
import { prioritySteps, queueNames, queuePatterns, separator } from './format/queue-names.ts';
import { serviceNames } from './format/service-names.ts';
import {
  keptRuns,
  regularExpressions,
  SAMPLER_NAMES,
  taskPatterns,
  tellingWords,
} from './format/signal-formats.ts';
import { taskPeriods } from './format/task-periods.ts';
import { token, tokenFile } from './format/token.ts';

/** The commands that have options. */
export type OptionCommand = 'run' | 'config' | 'check' | 'trace' | 'top' | 'record' | 'metrics';

/** The examples of configuration files that can be printed. */
const EXAMPLES = ['several', 'one', 'redis', 'sentinel', 'tls'] as const;
export type Example = (typeof EXAMPLES)[number];

/** The commands that also have the options of `run`. */
const LIKE_RUN: readonly (OptionCommand | undefined)[] = ['config', 'check', 'trace', 'top'];

/**
 * What an option applies to, and where a file sets it: `process`; `cluster` (for all services or for one); `service`
 * (one service); `signal` (how its spans or log records are made: in `celery.traces` or `celery.logs`); `export` (in
 * the standard's sections); `section` (whether the file has such a section, or what a part of it contains); `command`
 * (a single command).
 */
export type OptionScope = 'process' | 'cluster' | 'service' | 'signal' | 'export' | 'section' | 'command';

/** The brokers that an option can be for: any real broker, or some addresses of a kind. */
export type OptionBroker = 'any' | KindOption;

/** The key that an option sets in the configuration: of a service, of the export of a signal, or of the process. */
type Setting =
  | `broker.${keyof ServiceConfig['broker']}`
  | `broker.amqp.${keyof ServiceConfig['broker']['amqp']}`
  | `broker.redis.${keyof ServiceConfig['broker']['redis']}`
  | `broker.redis.sentinel.${keyof ServiceConfig['broker']['redis']['sentinel']}`
  | `cluster.${keyof ServiceConfig['cluster']}`
  | `polls.${keyof ServiceConfig['polls']}`
  | `polls.redis.${keyof ServiceConfig['polls']['redis']}`
  | `control.${keyof ServiceConfig['control']}`
  | 'taskDefaultQueue'
  | 'staleAfter'
  | `exporter.${keyof OtlpSettings['exporter']}`
  | `schedule.${keyof OtlpSettings['schedule']}`
  | `streams.${keyof OtlpSettings['streams']}`
  | `batch.${keyof TracesConfig['batch']}`
  | `settings.${keyof TracesConfig['settings'] | keyof LogsConfig['settings']}`
  | `status.${keyof StatusConfig}`
  | `self.${keyof SelfTelemetryConfig}`;

export interface Described {
  /** What the option does, including its unit, for help and documents. */
  readonly doc: string;
  readonly format: Format<unknown>;
  /** The name of the flag; by default, the key with dashes. */
  readonly flag?: `--${string}`;
  /**
   * The path in a configuration file. By default it is the key in `celery` (scope `cluster`), in each of `celery.services`, or,
   * without `otlp_`, in the exporter. NAME stands for the name of a service, EXPORTER for `otlp_grpc` or `otlp_http`, and
   * PIPELINE for the reader or processor that contains the exporter of a signal.
   */
  readonly file?: string;
  /** The map in a service of a configuration file that contains the key. */
  readonly within?: typeof TRANSPORT_OPTIONS | typeof SENTINEL_KWARGS;
  /** The key in a configuration file, if it differs from the key of the option. */
  readonly as?: string;
  /** The signal that the option belongs to; undefined in scope `export`: to each signal. */
  readonly signal?: SignalName;
  /** Another signal that the option also belongs to. */
  readonly also?: SignalName;
  /** The key of the configuration that holds the value unchanged, except that keys ending in `Ms` hold milliseconds. */
  readonly setting?: Setting;
  /** The value of the setting if the option is unset and has no default; by default undefined. */
  readonly unset?: unknown;
  /** The text of the default; without it, the option may be unset. */
  readonly default?: string;
  /** The value of a flag without a value. Other flags need a value, unless they are switches. */
  readonly alone?: string;
  /** The text for Python’s None, if it does not mean Celery’s default. */
  readonly none?: string;
  readonly commands?: readonly OptionCommand[];
  readonly required?: true;
  /** Whether lists from all sources are merged; for each key, the source of highest precedence wins. */
  readonly merged?: true;
  /** The brokers that the option applies to. Setting it without such a broker is a mistake. */
  readonly transport?: OptionBroker;
  /**
   * Names of environment variables; the first one that is set wins, unless `merged`. By default, each prefix of the row
   * followed by the key without `otlp_`. SIGNAL stands for the name of the signal.
   */
  readonly env?: readonly string[];
}

export interface OptionRow<T> extends Described {
  readonly format: Format<T>;
  readonly prefixes: readonly string[];
  readonly commands: readonly OptionCommand[];
  readonly scope: OptionScope;
}

const DAY_S = 86_400;
export const DAY_MS = DAY_S * 1000;
const HOUR_S = 3600;
const VISIBILITY_S_MAX = 30 * 365 * DAY_S;
const MIB = 1024 * 1024;

/** Leaves room in an AMQP name for the rest after the prefix: the id of a queue, or what Celery adds to an exchange. */
const PREFIX_BYTES_MAX = 200;

export const TRANSPORT_OPTIONS = 'broker_transport_options';
export const SENTINEL_KWARGS = 'broker_transport_options.sentinel_kwargs';

/** kombu's default (transport/redis.py, `keyprefix_fanout`). */
const FANOUT_PREFIX = '/{db}.';

/** The path in a file of the reader or processor of each signal, which contains its exporter. */
const PIPELINES: Readonly<Record<SignalName, string>> = {
  metrics: 'meter_provider.readers[0].periodic',
  traces: 'tracer_provider.processors[0].batch',
  logs: 'logger_provider.processors[0].batch',
};
const EXPORTER = 'PIPELINE.exporter.EXPORTER';

const SAMPLER = 'tracer_provider.sampler';
const ITEMS = { traces: 'spans', logs: 'log records' } as const;
const EXEMPLAR_FILTERS = ['always_on', 'always_off', 'trace_based'] as const satisfies ExemplarFilter[];
const OTLP_OR_NONE = ['otlp', 'none'] as const;
const OUTCOMES_OF_ERRORS = 'failed, rejected, terminated and lost';

/** What rows of the same kind have in common. */
type Common = Pick<OptionRow<unknown>, 'scope' | 'prefixes'> & Partial<OptionRow<unknown>>;
/** A row that has no key that is unknown here: it is inferred as it is written, so nothing else would find a misspelt one. */
type Known<R> = R & { readonly [K in Exclude<keyof R, keyof Described>]: never };

const RUN: readonly OptionCommand[] = ['run'];
const rowOf =
  <C extends Common>(common: C) =>
  <R extends Described>(row: Known<R>) => ({ commands: RUN, ...common, ...row });
const OWN = ['CELERY_OTEL_'];
const ofProcess = rowOf({ scope: 'process', prefixes: OWN });
const ofCluster = rowOf({ scope: 'cluster', prefixes: OWN });
const ofService = rowOf({ scope: 'service', prefixes: OWN });
/** Settings of Celery about its broker, which `record` needs too. */
const ofBroker = rowOf({ scope: 'service', prefixes: ['CELERY_'], commands: ['run', 'record'] });
/** Settings of Celery about its queues. */
const ofQueues = rowOf({ scope: 'service', prefixes: ['CELERY_'] });
/** The variables for one signal take precedence over those for all. */
const ofExport = rowOf({
  scope: 'export',
  prefixes: ['OTEL_EXPORTER_OTLP_SIGNAL_', 'OTEL_EXPORTER_OTLP_'],
});
const ofMetrics = rowOf({ scope: 'export', prefixes: [], signal: 'metrics' });
const ofSections = rowOf({ scope: 'section', prefixes: ['OTEL_'] });
const ofSampling = rowOf({ scope: 'section', prefixes: ['OTEL_'], signal: 'traces', file: SAMPLER });
const ofTraces = rowOf({ scope: 'signal', prefixes: OWN, signal: 'traces' });
const ofLogs = rowOf({ scope: 'signal', prefixes: OWN, signal: 'logs' });
const ofLogsAndSpans = rowOf({ scope: 'signal', prefixes: OWN, signal: 'logs', also: 'traces' });
/** A row of an option of a single command. */
const only = (command: OptionCommand) => rowOf({ scope: 'command', prefixes: [], commands: [command] });

/** The rows of the two batch processors. */
type Batched = keyof typeof ITEMS;
const ofBatch = <S extends Batched>(signal: S) => rowOf({ scope: 'export', prefixes: ['OTEL_'], signal });
const scheduleDelay = <S extends Batched>(signal: S, byDefault: string) =>
  ofBatch(signal)({
    file: 'PIPELINE.schedule_delay',
    doc: `Milliseconds after which ${ITEMS[signal]} are sent even if they do not fill a request.`,
    format: wholeNumber(0, DAY_MS, 'milliseconds'),
    setting: 'batch.scheduleDelayMs',
    default: byDefault,
  });
const exportTimeout = <S extends Batched>(signal: S) =>
  ofBatch(signal)({
    file: 'PIPELINE.export_timeout',
    doc: `Milliseconds that each request with ${ITEMS[signal]} may take, if \`otlp_timeout\` is longer.`,
    format: wholeNumber(1, DAY_MS, 'milliseconds'),
    setting: 'batch.exportTimeoutMs',
    default: '30000',
  });
const maxQueueSize = <S extends Batched>(signal: S) =>
  ofBatch(signal)({
    file: 'PIPELINE.max_queue_size',
    doc: `Maximum number of ${ITEMS[signal]} that wait to be sent; beyond it new ones are dropped.`,
    format: wholeNumber(1, 1_000_000),
    setting: 'batch.maxQueueSize',
    default: '16384',
  });
const maxBatchSize = <S extends Batched>(signal: S, queue: string) =>
  ofBatch(signal)({
    file: 'PIPELINE.max_export_batch_size',
    doc: `Maximum number of ${ITEMS[signal]} in a request; at most \`${queue}\`, to which the default is lowered.`,
    format: wholeNumber(1, 1_000_000),
    setting: 'batch.maxBatchSize',
    default: '512',
  });
const lengthLimit = <S extends Batched>(signal: S, variable: string) =>
  ofBatch(signal)({
    doc: `Maximum number of characters of a text in an attribute of ${ITEMS[signal]}; longer ones are cut.`,
    format: wholeNumber(0, 2_147_483_647),
    env: [variable, 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'],
    file: `${signal === 'traces' ? 'tracer' : 'logger'}_provider.limits.attribute_value_length_limit`,
    setting: 'settings.attributeValueLengthMax',
  });

const ROWS = {
  config: only('run')({
    doc: 'Configuration file, an OpenTelemetry declarative configuration with a section `celery`.',
    format: filePath,
    env: ['OTEL_CONFIG_FILE'],
  }),
  broker_url: ofBroker({
    doc: "Address of the cluster's broker, as in Celery; several are separated by `;` and tried in turn.",
    format: brokerUrls,
    required: true,
  }),
  broker_failover_strategy: ofBroker({
    doc: 'Order in which several broker addresses are tried.',
    format: oneOf(['round-robin', 'shuffle']),
    setting: 'broker.failoverStrategy',
    default: 'round-robin',
    transport: 'any',
  }),
  broker_heartbeat: ofBroker({
    doc: 'Seconds between AMQP heartbeats; the broker may lower it, and 0 switches heartbeats off.',
    format: heartbeat(65_535),
    setting: 'broker.amqp.heartbeatS',
    default: '30',
    none: '0',
    transport: 'amqp',
  }),
  broker_login_method: ofBroker({
    doc: 'How celery-otel logs in to RabbitMQ: by password, or with the client certificate (`EXTERNAL`); `login_method` in an address takes precedence.',
    format: oneOf(LOGIN_METHODS),
    setting: 'broker.amqp.loginMethod',
    default: 'PLAIN',
    transport: 'amqp',
  }),
  broker_password_file: ofBroker({
    doc: 'File with the password for the broker, read at each connection, for passwords that change; it replaces the one in `broker_url`.',
    format: filePath,
    env: ['CELERY_OTEL_BROKER_PASSWORD_FILE'],
    setting: 'broker.passwordFile',
    transport: 'any',
  }),
  broker_connection_timeout: ofBroker({
    doc: 'Seconds to wait for a connection to the broker.',
    format: seconds(300),
    setting: 'broker.connectTimeoutMs',
    default: '5',
    transport: 'any',
  }),
  event_exchange: ofBroker({
    doc: "Exchange of the events, as in Celery's own setting.",
    format: line(255),
    setting: 'broker.eventExchange',
    default: 'celeryev',
    transport: 'any',
  }),
  event_queue_prefix: ofBroker({
    doc: "Prefix of the name of the queue that is declared for the events, as in Celery's own setting.",
    format: line(PREFIX_BYTES_MAX),
    setting: 'broker.amqp.eventQueuePrefix',
    default: 'celeryev',
    transport: 'amqp',
  }),
  event_queue_bytes_max: ofBroker({
    doc: 'Maximum size of the event queue in bytes; beyond it the broker drops the oldest events.',
    format: wholeNumber(MIB, 64 * 1024 * MIB, 'bytes'),
    env: ['CELERY_OTEL_EVENT_QUEUE_BYTES_MAX'],
    setting: 'broker.amqp.eventQueueBytesMax',
    default: String(64 * MIB),
    transport: 'amqp',
  }),
  master_name: ofBroker({
    doc: 'Name by which the sentinels know the master; required with `sentinel://`.',
    format: line(255),
    setting: 'broker.redis.masterName',
    unset: '',
    within: TRANSPORT_OPTIONS,
    transport: 'sentinel',
  }),
  sentinel_username: ofBroker({
    doc: 'User name for the sentinels themselves; the one for the master is in `broker_url`.',
    format: line(255),
    setting: 'broker.redis.sentinel.username',
    within: SENTINEL_KWARGS,
    as: 'username',
    transport: 'sentinel',
  }),
  sentinel_password: ofBroker({
    doc: 'Password for the sentinels themselves; the one for the master is in `broker_url`.',
    format: secret,
    setting: 'broker.redis.sentinel.password',
    within: SENTINEL_KWARGS,
    as: 'password',
    transport: 'sentinel',
  }),
  global_keyprefix: ofBroker({
    doc: 'Prefix of all keys and channels of this Celery application in Redis.',
    format: line(PREFIX_BYTES_MAX),
    setting: 'broker.redis.globalKeyprefix',
    unset: '',
    within: TRANSPORT_OPTIONS,
    transport: 'redis',
  }),
  fanout_prefix: ofBroker({
    doc: 'Prefix of the channels, in which `{db}` stands for the number of the database; `false` for none, `true` for the default.',
    format: switchOr(line(PREFIX_BYTES_MAX), FANOUT_PREFIX),
    setting: 'broker.redis.fanoutPrefix',
    within: TRANSPORT_OPTIONS,
    default: FANOUT_PREFIX,
    transport: 'redis',
  }),
  fanout_patterns: ofBroker({
    doc: 'Whether the names of the channels end with the routing key.',
    format: trueOrFalse,
    setting: 'broker.redis.fanoutPatterns',
    within: TRANSPORT_OPTIONS,
    default: 'true',
    transport: 'redis',
  }),
  client_name: ofBroker({
    doc: 'Name of the connections in the list of clients of Redis; that of the connection for events has a suffix.',
    format: clientName,
    setting: 'broker.redis.clientName',
    within: TRANSPORT_OPTIONS,
    default: 'celery-otel',
    transport: 'redis',
  }),
  socket_keepalive: ofBroker({
    doc: 'Whether TCP detects dead connections to Redis, in addition to the health check.',
    format: trueOrFalse,
    setting: 'broker.redis.socketKeepalive',
    within: TRANSPORT_OPTIONS,
    default: 'true',
    transport: 'redis',
  }),
  health_check_interval: ofBroker({
    doc: 'Seconds without a sign of life after which Redis gets `socket_timeout` to respond; it is checked every second.',
    format: seconds(HOUR_S),
    setting: 'broker.redis.healthCheckIntervalMs',
    within: TRANSPORT_OPTIONS,
    default: '25',
    transport: 'redis',
  }),
  socket_timeout: ofBroker({
    doc: 'Seconds to wait for Redis after `health_check_interval`; then the connection is dead and is opened again.',
    format: seconds(HOUR_S),
    setting: 'broker.redis.socketTimeoutMs',
    within: TRANSPORT_OPTIONS,
    default: '5',
    transport: 'redis',
  }),
  sep: ofQueues({
    doc: 'Separator between the name of a queue and its priority, in the names of keys; a character can be written as `\\x06`. `auto` is that of the workers.',
    format: separator,
    setting: 'polls.redis.separator',
    within: TRANSPORT_OPTIONS,
    default: 'auto',
    transport: 'redis',
  }),
  priority_steps: ofQueues({
    doc: 'Priorities that have a list of their own in each queue.',
    format: prioritySteps,
    setting: 'polls.redis.prioritySteps',
    within: TRANSPORT_OPTIONS,
    default: '0,3,6,9',
    transport: 'redis',
  }),
  unacked_key: ofQueues({
    doc: 'Key of the messages that workers hold.',
    format: line(PREFIX_BYTES_MAX),
    setting: 'polls.redis.unackedKey',
    within: TRANSPORT_OPTIONS,
    default: 'unacked',
    transport: 'redis',
  }),
  unacked_index_key: ofQueues({
    doc: 'Key of the times at which workers took the messages that they hold.',
    format: line(PREFIX_BYTES_MAX),
    setting: 'polls.redis.unackedIndexKey',
    within: TRANSPORT_OPTIONS,
    default: 'unacked_index',
    transport: 'redis',
  }),
  visibility_timeout: ofQueues({
    doc: 'Seconds after which Celery delivers a message again that a worker holds.',
    format: seconds(VISIBILITY_S_MAX),
    setting: 'polls.redis.visibilityTimeoutMs',
    within: TRANSPORT_OPTIONS,
    default: '3600',
    transport: 'redis',
  }),
  queues: ofService({
    doc: 'Names of queues to poll even if no event has named them, `a,b`.',
    format: queueNames,
    setting: 'polls.queues',
    unset: [],
    transport: 'any',
  }),
  parked_queues: ofService({
    doc: 'Names of queues whose messages no worker is meant to consume, such as dead letters, `a,b`, with `*` and `?`: their lengths are exported, but messages in them are not a problem.',
    format: queuePatterns,
    setting: 'polls.parkedQueues',
    unset: [],
    transport: 'any',
  }),
  management_url: ofService({
    doc: 'Address of RabbitMQ’s management API, which lists its queues, so that those are polled that nothing names; without user and password, those of `broker_url` are used.',
    format: managementUrl,
    setting: 'broker.amqp.managementUrl',
    transport: 'amqp',
  }),
  control_exchange: ofService({
    doc: "Prefix of the names of the remote-control exchanges, as in Celery's own setting.",
    format: line(PREFIX_BYTES_MAX),
    env: ['CELERY_CONTROL_EXCHANGE'],
    setting: 'control.namespace',
    default: 'celery',
    transport: 'any',
  }),
  task_default_queue: ofService({
    doc: "Queue of tasks that are sent without a queue, as in Celery's own setting; it is always polled.",
    format: line(255),
    env: ['CELERY_TASK_DEFAULT_QUEUE'],
    setting: 'taskDefaultQueue',
    default: 'celery',
    transport: 'any',
  }),
  collection_interval: ofCluster({
    doc: 'Seconds between two polls of the broker for the lengths of its queues, and of the workers for their state.',
    format: seconds(HOUR_S),
    setting: 'polls.intervalMs',
    default: '15',
  }),
  initial_delay: ofCluster({
    doc: 'Seconds from a connection to the first poll, to which a random part of `collection_interval` is added.',
    format: seconds(HOUR_S),
    setting: 'polls.initialDelayMs',
    default: '1',
  }),
  timeout: ofCluster({
    doc: 'Seconds that workers have to reply to a poll.',
    format: seconds(60),
    setting: 'control.timeoutMs',
    default: '1',
  }),
  control_commands: ofCluster({
    doc: 'Remote control commands that are sent to workers, or `none`. With `auto`, `stats`, `active_queues` and `active`, but to workers on Redis only `active`, unless their Celery is known to be 5.7 or newer. Commands listed here are sent to all workers; see [what it does not ask](brokers.md#commands-that-are-not-sent).',
    format: inspectCommands,
    setting: 'control.commands',
    default: 'auto',
  }),
  enable_events: ofCluster({
    doc: 'Whether remote control enables task events on every worker, like `worker -E`, until it is restarted.',
    format: trueOrFalse,
    setting: 'control.enableEvents',
    default: 'false',
  }),
  worker_timeout: ofCluster({
    doc: 'Seconds of silence after which a worker is no longer up; for each worker at least 2.5 times its heartbeat interval.',
    format: seconds(DAY_S),
    setting: 'cluster.workerTimeoutMs',
    default: '30',
  }),
  lost_timeout: ofCluster({
    doc: 'Seconds of silence after which the running tasks of a worker are counted as lost, unless its death is detected earlier; at least `worker_timeout`, and for each worker 2.5 times its heartbeat interval.',
    format: seconds(DAY_S),
    setting: 'cluster.lostTimeoutMs',
    default: '120',
  }),
  task_stale_after: ofCluster({
    doc: 'Periodic tasks, each with the seconds without a success after which it is reported as stale, `shop.report=90000,shop.sync=600`; other tasks never are.',
    format: taskPeriods,
    setting: 'staleAfter',
  }),
  series_retention: ofCluster({
    doc: 'Seconds after which a worker that has left is forgotten, and an idle series may be replaced by a new one if its metric is at the limit; at least `worker_timeout`.',
    format: seconds(30 * DAY_S),
    setting: 'cluster.seriesRetentionMs',
    default: '600',
  }),
  tasks_max: ofCluster({
    doc: 'Maximum number of tasks to remember, with 1,050 bytes for each; beyond either limit the oldest are forgotten, finished ones first.',
    format: wholeNumber(1, 10_000_000),
    setting: 'cluster.tasksMax',
    default: '100000',
  }),
  workers_max: ofCluster({
    doc: 'Maximum number of workers to remember, with 9 kB for each; beyond either limit the worker that has been silent longest is forgotten.',
    format: wholeNumber(1, 1_000_000),
    setting: 'cluster.workersMax',
    default: '10000',
  }),
  reordering_window: ofCluster({
    doc: 'Seconds to hold back events, so that they are counted in the order in which they happened.',
    format: seconds(HOUR_S),
    setting: 'cluster.windowMs',
    default: '1',
  }),
  reordering_events_max: ofCluster({
    doc: 'Maximum number of events to hold back, with 1 KiB for each; beyond either limit the one that arrived first is counted early.',
    format: wholeNumber(1, 10_000_000),
    setting: 'cluster.heldMax',
    default: '100000',
  }),
  skew_pairs_max: ofCluster({
    doc: 'Maximum number of host pairs with different clocks to report by name; others are reported as `other`.',
    format: wholeNumber(1, 100_000),
    setting: 'cluster.skewPairsMax',
    default: '100',
  }),
  service_name: ofService({
    doc: '`service.name` of all that is exported; required unless `resource_attributes` has it, over which it takes precedence.',
    format: line(255),
    env: ['OTEL_SERVICE_NAME'],
    file: 'celery.services',
  }),
  resource_attributes: ofService({
    doc: 'More resource attributes of all that is exported, `key=value,key=value`, percent-encoded.',
    format: attributeList,
    env: ['OTEL_RESOURCE_ATTRIBUTES'],
    file: 'celery.services.NAME.resource',
  }),
  metrics_disabled: ofService({
    doc: 'Metrics to disable, in addition to those disabled by default.',
    format: metricList,
    flag: '--disable-metrics',
    file: 'celery.services.NAME.metrics',
  }),
  metrics_enabled: ofService({
    doc: 'Metrics to enable; if `metrics_disabled` matches too, the more specific name wins.',
    format: metricList,
    flag: '--enable-metrics',
    file: 'celery.services.NAME.metrics',
  }),
  metric_attributes_enabled: ofService({
    doc: 'Opt-in attributes to add to the points of a metric.',
    format: optInList,
    flag: '--enable-attributes',
    env: ['CELERY_OTEL_ATTRIBUTES_ENABLED'],
    file: 'celery.services.NAME.metrics',
  }),
  otlp_endpoint: ofExport({
    doc: 'Address of the OTLP backend; `https:` means TLS, `http:` means none. Over HTTP it is the whole URL, except that the path of the signal, such as `v1/metrics`, is appended to `OTEL_EXPORTER_OTLP_ENDPOINT`; in the flag, `v1/metrics` at the end is replaced for other signals. By default `http://localhost:4317`, over HTTP `http://localhost:4318/v1/metrics` and the like.',
    format: otlpAddress,
  }),
  otlp_protocol: ofExport({
    doc: 'OTLP protocol.',
    format: oneOf(OTLP_PROTOCOLS),
    file: 'PIPELINE.exporter',
    default: 'grpc',
  }),
  otlp_headers: ofExport({
    doc: 'Headers of every request, `key=value,key=value`, percent-encoded; headers from several sources are merged.',
    format: headerList,
    merged: true,
  }),
  otlp_insecure: ofExport({
    doc: 'Whether an endpoint without a scheme is used without TLS.',
    format: trueOrFalse,
    file: `${EXPORTER}.tls.insecure`,
    default: 'false',
  }),
  otlp_certificate: ofExport({
    doc: 'PEM file with the certificates to trust instead of those that Node trusts.',
    format: certificateFile,
    file: `${EXPORTER}.tls.ca_file`,
    setting: 'exporter.certificateFile',
  }),
  otlp_client_certificate: ofExport({
    doc: 'PEM file with the client certificate; requires `otlp_client_key`.',
    format: certificateFile,
    file: `${EXPORTER}.tls.cert_file`,
    setting: 'exporter.clientCertificateFile',
  }),
  otlp_client_key: ofExport({
    doc: 'PEM file with the private key of `otlp_client_certificate`.',
    format: keyFile,
    file: `${EXPORTER}.tls.key_file`,
    setting: 'exporter.clientKeyFile',
  }),
  otlp_compression: ofExport({
    doc: 'Compression of the requests.',
    format: oneOf(['gzip', 'none']),
    setting: 'exporter.compression',
    default: 'none',
  }),
  otlp_timeout: ofExport({
    doc: 'Milliseconds that a request may take.',
    format: wholeNumber(1, DAY_MS, 'milliseconds'),
    setting: 'exporter.timeoutMs',
    default: '10000',
  }),
  otlp_temporality_preference: ofMetrics({
    doc: 'Temporality of sums and histograms: totals (`cumulative`) or differences (`delta`, `lowmemory`).',
    format: oneOf(['cumulative', 'delta', 'lowmemory'], { anyCase: true }),
    env: ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE'],
    default: 'cumulative',
  }),
  otlp_default_histogram_aggregation: ofMetrics({
    doc: 'Histograms with the explicit buckets of docs/metrics.md, or with exponential buckets.',
    format: oneOf(['explicit_bucket_histogram', 'base2_exponential_bucket_histogram'], { anyCase: true }),
    env: ['OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION'],
    setting: 'streams.histograms',
    default: 'explicit_bucket_histogram',
  }),
  metric_export_interval: ofMetrics({
    doc: 'Milliseconds between two exports.',
    format: wholeNumber(1, DAY_MS, 'milliseconds'),
    env: ['OTEL_METRIC_EXPORT_INTERVAL'],
    file: 'PIPELINE.interval',
    setting: 'schedule.intervalMs',
    default: '60000',
  }),
  metric_export_timeout: ofMetrics({
    doc: 'Milliseconds that each request of an export may take, if `otlp_timeout` is longer; at most `metric_export_interval`, to which the default is lowered. An export of several requests continues as long as each gets a response in time.',
    format: wholeNumber(1, DAY_MS, 'milliseconds'),
    env: ['OTEL_METRIC_EXPORT_TIMEOUT'],
    file: 'PIPELINE.timeout',
    setting: 'schedule.timeoutMs',
    default: '30000',
  }),
  zero_first: ofProcess({
    doc: 'With cumulative temporality, seconds for which a new series of a counter or histogram is exported as 0 before its value, and at least once, so that Prometheus sees its first increase: at least the scrape interval. `off`, also the default with a recording: its first point has its value.',
    format: secondsOrOff(DAY_S),
    file: 'celery.zero_first',
    default: '60',
  }),
  mark_ended: ofProcess({
    doc: 'Whether a series that has ended, such as one of a worker that has left, is exported once more without a value (`NoRecordedValue`), so that a Collector drops it at once.',
    format: trueOrFalse,
    file: 'celery.mark_ended',
    setting: 'streams.markEnded',
    default: 'true',
  }),
  metrics_exemplar_filter: ofMetrics({
    doc: 'Which runs have exemplars on their metrics: those whose span is kept (`trace_based`), all (`always_on`), or none.',
    format: oneOf(EXEMPLAR_FILTERS, { anyCase: true }),
    env: ['OTEL_METRICS_EXEMPLAR_FILTER'],
    file: 'meter_provider.exemplar_filter',
    default: 'trace_based',
  }),
  traces_exporter: ofSections({
    doc: 'Whether traces are made and exported (`otlp`).',
    format: oneOf(OTLP_OR_NONE, { anyCase: true }),
    file: 'tracer_provider',
    default: 'none',
  }),
  logs_exporter: ofSections({
    doc: 'Whether log records are made and exported (`otlp`).',
    format: oneOf(OTLP_OR_NONE, { anyCase: true }),
    file: 'logger_provider',
    default: 'none',
  }),
  traces_sampler: ofSampling({
    doc: 'Which runs have spans; `parentbased_` ones follow the sampled flag of a trace that is joined.',
    format: oneOf(SAMPLER_NAMES, { anyCase: true }),
    default: 'parentbased_always_on',
  }),
  traces_sampler_arg: ofSampling({
    doc: 'Share of the traces that is kept, with `traceidratio` and `parentbased_traceidratio`.',
    format: ratio,
    default: '1',
  }),
  traces_keep: ofSampling({
    doc: `Runs that have spans whatever \`traces_sampler\` decides: some outcomes, \`errors\` (${OUTCOMES_OF_ERRORS}), and \`slow\` (those of \`traces_slow_after\`).`,
    format: keptRuns,
    env: ['CELERY_OTEL_TRACES_KEEP'],
  }),
  traces_hold: ofTraces({
    doc: 'Longest time in seconds for which runs are held until their trace is over, so that a run that `traces_keep` or a rule keeps also keeps the rest of its trace; 0: each run is kept or dropped on its own.',
    format: secondsOrNone(DAY_S),
    setting: 'settings.holdMs',
    default: '300',
  }),
  bsp_schedule_delay: scheduleDelay('traces', '5000'),
  bsp_export_timeout: exportTimeout('traces'),
  bsp_max_queue_size: maxQueueSize('traces'),
  bsp_max_export_batch_size: maxBatchSize('traces', 'bsp_max_queue_size'),
  span_attribute_value_length_limit: lengthLimit('traces', 'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT'),
  blrp_schedule_delay: scheduleDelay('logs', '1000'),
  blrp_export_timeout: exportTimeout('logs'),
  blrp_max_queue_size: maxQueueSize('logs'),
  blrp_max_export_batch_size: maxBatchSize('logs', 'blrp_max_queue_size'),
  logrecord_attribute_value_length_limit: lengthLimit('logs', 'OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT'),
  traces_spans: ofTraces({
    doc: 'Which runs may have spans: `all`, or, where the workers are instrumented, those `beyond_workers`, whose ends workers cannot report.',
    format: oneOf(['all', 'beyond_workers']),
    setting: 'settings.spans',
    default: 'all',
  }),
  traces_join: ofTraces({
    doc: 'Whether a `root_id` that is a traceparent joins that trace, and the event `task-traced` is read; then anybody who may send tasks can write into any trace.',
    format: trueOrFalse,
    setting: 'settings.join',
    default: 'false',
  }),
  traces_send_spans: ofTraces({
    doc: 'Whether sendings have spans too, if `task-sent` events are enabled.',
    format: trueOrFalse,
    setting: 'settings.sendSpans',
    default: 'true',
  }),
  traces_slow_after: ofTraces({
    doc: 'Runs that take at least this many seconds are slow, and their spans have the attribute celery.task.slow.',
    format: seconds(30 * DAY_S),
    setting: 'settings.slowAfterMs',
    default: '60',
  }),
  traces_max_delay: ofTraces({
    doc: 'A task whose ETA is more than this many seconds after its sending begins a new trace.',
    format: seconds(30 * DAY_S),
    setting: 'settings.maxDelayMs',
    default: '600',
  }),
  traces_max_spans: ofTraces({
    doc: 'Once a trace has this many spans, further tasks begin traces of their own.',
    format: wholeNumber(1, 1_000_000),
    setting: 'settings.maxSpans',
    default: '5000',
  }),
  traces_max_age: ofTraces({
    doc: 'Seconds from the beginning of a trace after which further tasks begin traces of their own.',
    format: seconds(30 * DAY_S),
    setting: 'settings.maxAgeMs',
    default: '21600',
  }),
  traces_new_trace_for: ofTraces({
    doc: 'Names of tasks that always begin traces of their own, `a,b`, with `*` and `?`.',
    format: taskPatterns,
    setting: 'settings.newTraceFor',
    unset: [],
  }),
  traces_service_names: ofTraces({
    doc: 'Rules that give spans another `service.name` by their task, queue or worker, with `*` and `?`; the first one that matches decides.',
    format: serviceNames,
    setting: 'settings.serviceNames',
    unset: [],
  }),
  traces_arguments: ofTraces({
    doc: 'Whether spans have the arguments and the results of tasks, which may be secrets.',
    format: trueOrFalse,
    setting: 'settings.arguments',
    default: 'false',
  }),
  logs_exception_message: ofLogsAndSpans({
    doc: 'Whether log records, spans and the pages have the messages of exceptions.',
    format: trueOrFalse,
    setting: 'settings.exceptionMessage',
    default: 'true',
  }),
  logs_exception_stacktrace: ofLogsAndSpans({
    doc: 'Whether log records, or events of spans in their place, and the pages have stack traces.',
    format: trueOrFalse,
    setting: 'settings.exceptionStacktrace',
    default: 'true',
  }),
  logs_redact: ofLogsAndSpans({
    doc: 'Regular expressions for what else is replaced by `***` in exceptions; passwords in addresses and the like always are.',
    format: regularExpressions,
    setting: 'settings.redact',
    unset: [],
  }),
  logs_redact_names: ofLogsAndSpans({
    doc: 'Words in the names of values that are replaced by `***` in exceptions, `a,b`, as those of passwords always are; `*` at either end stands for further letters.',
    format: tellingWords,
    setting: 'settings.redactNames',
    unset: [],
  }),
  logs_workers: ofLogs({
    doc: 'Whether there are log records of workers that come and go.',
    format: trueOrFalse,
    setting: 'settings.workers',
    default: 'true',
  }),
  log_level: ofProcess({
    doc: 'Lowest level of the log lines on stderr.',
    format: logLevel,
    env: ['LOG_LEVEL', 'OTEL_LOG_LEVEL'],
    file: 'log_level',
    default: 'info',
    commands: ['run', 'record'],
  }),
  status_address: ofProcess({
    doc: 'Where the status page, `/livez`, `/readyz` and `/status.json` are served over HTTP; unset, they are not.',
    format: listenAddress,
    file: 'celery.status.address',
  }),
  status_token: ofProcess({
    doc: 'Token required for everything but `/livez` and `/readyz`, as a bearer token or as the password of any user; unset, none is required.',
    format: token,
    file: 'celery.status.token',
  }),
  status_token_file: ofProcess({
    doc: 'File with the token, read at the start.',
    format: tokenFile,
    file: 'celery.status.token_file',
  }),
  status_ready: ofProcess({
    doc: 'When `/readyz` returns 200: once `any` service has connected, `once` each of them has, or only while all are `connected`.',
    format: oneOf(['any', 'once', 'connected']),
    file: 'celery.status.ready',
    setting: 'status.readiness',
    default: 'any',
  }),
  status_runs: ofProcess({
    doc: 'How many finished runs of each service the pages remember, at about 150 bytes each, or up to 1 kB if all ids and names are long and differ: so a run is found by its id, and a task shows its last runs and failures. 0: none.',
    format: wholeNumber(0, 1_000_000),
    file: 'celery.status.runs',
    setting: 'status.runsMax',
    default: '10000',
  }),
  self_telemetry: ofProcess({
    doc: 'Whether the metrics about celery-otel itself are exported too.',
    format: trueOrFalse,
    file: 'celery.telemetry.enabled',
    setting: 'self.enabled',
    default: 'true',
  }),
  example: only('config')({
    doc: 'Print an example of a configuration file instead: for several services with every option, for one on RabbitMQ, or for Redis, sentinels or TLS.',
    format: oneOf(EXAMPLES),
    alone: 'several',
  }),
  all: only('config')({
    doc: 'Print the defaults too.',
    format: trueOrFalse,
    default: 'false',
  }),
  schema: only('config')({
    doc: 'Print the JSON schema of the section `celery` instead.',
    format: trueOrFalse,
    default: 'false',
  }),
  seconds: only('check')({
    doc: 'Seconds to watch each service, once connected to its broker.',
    format: seconds(HOUR_S),
    default: '5',
  }),
  json: only('check')({
    doc: 'Print the report as JSON.',
    format: trueOrFalse,
    default: 'false',
  }),
  interval: only('top')({
    doc: 'Seconds between two reports where there is no terminal.',
    format: seconds(DAY_S),
    default: '10',
  }),
  once: only('top')({
    doc: 'Print one report and exit: about a running instance at once, else after `--interval`.',
    format: trueOrFalse,
    default: 'false',
  }),
  out: only('record')({
    doc: 'File to write; only its owner may read it.',
    format: filePath,
    required: true,
  }),
  force: only('record')({
    doc: 'Replace the file of `--out` if it exists; a symbolic link is replaced itself, not its target.',
    format: trueOrFalse,
    default: 'false',
  }),
  format: only('metrics')({
    doc: 'Output format: Markdown or JSON.',
    format: oneOf(['md', 'json']),
    default: 'md',
  }),
} as const;

export type Rows = typeof ROWS;
export type ValueOf<R> = R extends { readonly format: Format<infer T> } ? T : never;

/** The key of each option, and the type of its value. */
export type OptionValues = { readonly [K in keyof typeof ROWS]: ValueOf<(typeof ROWS)[K]> };
export type OptionKey = keyof OptionValues;

export const OPTIONS: { readonly [K in OptionKey]: OptionRow<OptionValues[K]> } = ROWS;

export type KeyedRow = readonly [OptionKey, OptionRow<unknown> & { readonly env: readonly string[] }];

/** All rows with their keys, in order, or those of one command. */
export function optionRows(command?: OptionCommand): readonly KeyedRow[] {
  const rows = OPTION_KEYS.map((key) => [key, { ...OPTIONS[key], env: variablesOf(key) }] as const);
  const taken: readonly unknown[] = LIKE_RUN.includes(command) ? [command, 'run'] : [command];
  return rows.filter(([, row]) => command === undefined || row.commands.some((one) => taken.includes(one)));
}

/** The default value of an option that has one. */
export function defaultOf<K extends OptionKey>(key: K): OptionValues[K] {
  const row: OptionRow<OptionValues[K]> = OPTIONS[key];
  const reading = row.format.read(row.default ?? '');
  if (!reading.ok) throw new Error(`option ${key} has no default`);
  return reading.value;
}

export function flagOf(key: OptionKey): string {
  return OPTIONS[key].flag ?? `--${key.replaceAll('_', '-')}`;
}

/** The environment variables of an option for one signal, by precedence. */
export function envOf(key: OptionKey, signal: SignalName = 'metrics'): readonly string[] {
  const { env, prefixes } = OPTIONS[key];
  const name = key.replace(/^otlp_/, '').toUpperCase();
  return env ?? prefixes.map((prefix) => prefix.replace('SIGNAL', signal.toUpperCase()) + name);
}

/** The environment variables of an option for all signals. Those for a single signal come first. */
function variablesOf(key: OptionKey): readonly string[] {
  const bySignal = SIGNAL_NAMES.map((signal) => envOf(key, signal));
  return [...new Set([...bySignal.map(([first]) => first ?? []), ...bySignal].flat())];
}

/** The path of an option in a configuration file with this kind of exporter; undefined if files cannot set it. */
export function fileOf(
  key: OptionKey,
  exporter = 'EXPORTER',
  ofSignal: SignalName = 'metrics',
): string | undefined {
  const { scope, file, signal = ofSignal } = OPTIONS[key];
  if (scope === 'cluster') return `celery.${key}`;
  if (scope === 'signal') return `celery.${key.replace('_', '.')}`;
  if (scope === 'export')
    return (file ?? `${EXPORTER}.${key.replace(/^otlp_/, '')}`)
      .replace('EXPORTER', exporter)
      .replace('PIPELINE', PIPELINES[signal]);
  return scope === 'service' ? (file ?? `celery.services.NAME.${servicePath(key).join('.')}`) : file;
}

/** The path of an option within a service of a configuration file. */
export function servicePath(key: OptionKey): readonly string[] {
  const { within, as = key } = OPTIONS[key];
  return [...(within?.split('.') ?? []), as];
}

/** The options that a service can have in a configuration file. */
export function serviceRows(): readonly KeyedRow[] {
  return optionRows('run').filter(
    ([, { scope, file }]) => scope === 'cluster' || (scope === 'service' && file === undefined),
  );
}

export function isOptionKey(key: string): key is OptionKey {
  return Object.hasOwn(ROWS, key);
}

const OPTION_KEYS: readonly OptionKey[] = Object.keys(ROWS).filter(isOptionKey);

/** The options of a signal: those of its export, and those of how its spans or log records are made. */
export function signalRows(of: SignalName): readonly KeyedRow[] {
  return optionRows('run').filter(
    ([, { scope, signal, also }]) =>
      signal === of || also === of || (scope === 'export' && signal === undefined),
  );
}
