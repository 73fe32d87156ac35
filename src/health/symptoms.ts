/**
 * The table of findings, one row each: the grade, the line to print, and for symptoms the cause and the remedy. Output,
 * documents and tests are derived from it. It detects nothing.
 */
import { printable } from '../text/printable.ts';

/**
 * From best to worst. `unknown`: it was not observed. `degraded`: something is lost, late or wrong. `down`: no tasks
 * are executed, or nothing is measured.
 */
export const GRADES = ['fine', 'unknown', 'degraded', 'down'] as const;
export type Grade = (typeof GRADES)[number];

interface Fine {
  readonly grade: 'fine' | 'unknown';
  /** `{name}` stands for a value, and `{count:task}` for a number with its noun. */
  readonly line: string;
  readonly remedy?: string;
}

interface Symptom {
  readonly grade: Exclude<Grade, 'fine'>;
  readonly line: string;
  readonly cause: string;
  readonly remedy: string;
  /** The shipped alert about this condition. */
  readonly alert?: string;
  /** A running bridge reports the symptom once it has lasted this many seconds; by default at once. */
  readonly afterS?: number;
}

const EVENTS_ON =
  'Start them with `celery worker -E`, or set `worker_send_task_events = True`; the option `enable_events` of celery-otel switches them on without a restart.';

export const SYMPTOMS = {
  'broker-reached': { grade: 'fine', line: 'connected to {broker}' },
  'broker-unreachable': {
    grade: 'down',
    alert: 'CeleryOtelDisconnected',
    line: '{broker} cannot be reached: {reason}',
    cause:
      'Nothing listens there, the name is wrong, or the network blocks the connection; or another server listens there, or only one side uses TLS. In a container, `localhost` is the container itself.',
    remedy:
      'Correct `broker_url` (`amqps` and `rediss` mean TLS, `amqp` and `redis` none), start the broker, or open the network.',
  },
  'broker-untrusted': {
    grade: 'down',
    alert: 'CeleryOtelDisconnected',
    line: 'TLS to {broker} fails: {reason}',
    cause:
      'The broker’s certificate is from an unknown authority, for another host, or expired; or the broker requires a client certificate.',
    remedy:
      'Set `ssl_ca_certs` to the authority, correct the host and port in `broker_url`, or renew what has expired. If the broker refuses the client, set `ssl_certfile` and `ssl_keyfile` to a certificate that it trusts. See [TLS](configuration.md#tls-to-the-broker).',
  },
  'connection-lost': {
    grade: 'degraded',
    alert: 'CeleryOtelDisconnected',
    line: 'the connection to {broker} broke: {reason}',
    cause: 'The broker was restarted, or a proxy or the network closes connections.',
    remedy: 'Check the broker’s log. celery-otel reconnects automatically, but misses the events in between.',
  },
  'broker-silent': {
    grade: 'down',
    alert: 'CeleryOtelDisconnected',
    line: '{broker} has not replied for {seconds} s',
    cause: 'The broker hangs, is suspended or overloaded, or the network blocks traffic.',
    remedy: 'Check the broker and its log, and run the check again.',
  },
  'broker-refused': {
    grade: 'down',
    alert: 'CeleryOtelDisconnected',
    line: '{broker} refuses the connection: {reason}',
    cause:
      'The user, the password, the virtual host or a permission is wrong, or a connection limit is reached; the line names the cause.',
    remedy: 'Fix what the line reports; see [the permissions](brokers.md#permissions).',
  },
  'broker-malformed': {
    grade: 'down',
    alert: 'CeleryOtelDisconnected',
    line: '{broker} does not behave like a broker: {reason}',
    cause: 'Another server listens there, or a proxy in between changes the data.',
    remedy: 'Correct the host and port in `broker_url`, or connect without the proxy.',
  },
  'exchange-found': { grade: 'fine', line: 'the exchange "{exchange}" exists' },
  'exchange-missing': {
    grade: 'down',
    line: 'there is no exchange "{exchange}" at {broker}',
    cause:
      'No worker has connected yet; or the workers use another `event_exchange`, virtual host or broker.',
    remedy: 'Start a worker, or use the workers’ settings.',
  },
  'publishers-blocked': {
    grade: 'down',
    line: '{broker} blocks publishers: {reason}',
    cause: 'RabbitMQ is low on memory or disk, so workers cannot send events.',
    remedy: 'Free memory or disk space.',
  },
  'publishing-refused': {
    grade: 'unknown',
    line: 'the user may not publish to the default exchange, so a broker that blocks publishers is not noticed: {reason}',
    cause:
      'Without this permission, celery-otel cannot see when the broker blocks publishers, and may report busy workers as lost.',
    remedy: 'Grant [the optional permission](brokers.md#permissions), or raise `lost_timeout`.',
  },
  'no-workers': {
    grade: 'down',
    line: 'no worker was seen in {seconds} s',
    cause:
      'No worker runs; or the workers use another broker, virtual host, database, `event_exchange` or `control_exchange`.',
    remedy: 'Start a worker, or use the workers’ settings.',
  },
  'workers-elsewhere': {
    grade: 'down',
    line: 'no worker was seen in {seconds} s, but there are signs of workers in {places}',
    cause:
      'The workers use another database, `global_keyprefix` or `event_exchange`. Killed workers leave such signs, too.',
    remedy:
      'Use the workers’ settings: the database at the end of `broker_url`, as in `redis://host:6379/3`, `global_keyprefix`, or `event_exchange` and `control_exchange`.',
  },
  'workers-gone': {
    grade: 'down',
    alert: 'CeleryNoWorkers',
    line: 'no worker is up: {workers} left or went silent{waiting}',
    cause:
      'They were stopped or killed, or are being restarted; or they use the solo pool, which is silent while it runs a task. Without waiting messages, workers that said goodbye are no problem.',
    remedy: 'Start them, or wait until the task has ended, and check again.',
  },
  'workers-left': {
    grade: 'fine',
    line: 'no worker is up: all said goodbye{waiting}',
  },
  'workers-hidden': {
    grade: 'down',
    line: 'no worker was seen in {seconds} s, but {evidence}',
    cause:
      'A worker with the solo pool sends no events and no replies while it runs a task. Others run with `--without-heartbeat` and without remote control, or use another `event_exchange` and `control_exchange`.',
    remedy:
      'Check again when the task has ended. Otherwise use the workers’ settings, and start them without `--without-heartbeat`.',
  },
  'workers-seen': {
    grade: 'fine',
    line: '{count:worker}: {heartbeats} sent heartbeats, {replies} replied to remote control',
  },
  worker: { grade: 'fine', line: '{worker}: Celery {version}, {pool}' },
  'more-workers': { grade: 'fine', line: '{count} more workers' },
  'workers-beyond': {
    grade: 'degraded',
    line: 'not checked, because workers_max is {max}: {count:worker}',
    cause:
      'There are more workers than celery-otel remembers, or their names are very long. `check` examines the first ones; `run` evicts those that have been silent longest, with their series.',
    remedy: 'Raise `workers_max`.',
  },
  'workers-silent': {
    grade: 'degraded',
    alert: 'CeleryWorkerDown',
    line: '{workers} went silent',
    cause:
      'They were killed, hang or have lost the broker; or they use the solo pool, which is silent while it runs a task.',
    remedy: 'For a busy solo worker, nothing. Otherwise check the workers and their logs.',
  },
  'worker-crashes': {
    grade: 'degraded',
    alert: 'CeleryWorkerCrashes',
    line: '{worker} crashes again and again: {count} restarts without a goodbye in half an hour',
    cause:
      'Its main process is killed, often for lack of memory, or ends with an error, and a supervisor restarts it.',
    remedy: 'Check its log, and why its process ended.',
  },
  'no-reply': {
    grade: 'unknown',
    line: '{workers} did not reply to remote control',
    cause:
      'A worker with the solo pool does not reply while it runs a task; others are overloaded, or run with `worker_enable_remote_control = False`.',
    remedy: 'For a busy solo worker, nothing. Otherwise raise `timeout`, or enable remote control.',
  },
  'worker-deaf': {
    grade: 'degraded',
    alert: 'CeleryWorkerDeaf',
    line: '{workers} deaf: heartbeats continue, but no tasks are consumed',
    cause:
      'A reply of the worker to remote control failed, whichever client sent the command: on Redis, Celery up to 5.6 then stops listening permanently. `inspect stats` does that with `task_serializer = "yaml"` or options that JSON cannot encode, any command with different separators (`sep`), or a full Redis.',
    remedy:
      'Restart the worker, or close its connections to Redis (`CLIENT KILL`). Look for “Control command error” in its log, and upgrade to Celery 5.7.',
  },
  'replies-unreadable': {
    grade: 'unknown',
    line: '{workers} reply in a format other than JSON, and get no more commands',
    cause:
      'Replies use the worker’s `task_serializer`. Pickle and YAML are never decoded, and on Redis up to Celery 5.6 a reply that YAML cannot encode stops the worker.',
    remedy: 'Set `task_serializer` to `json`. Otherwise the pools and queues of these workers are unknown.',
  },
  'questions-withheld': {
    grade: 'unknown',
    line: 'unknown for {workers}: {missing}; Celery {version} on Redis does not get {commands}',
    remedy:
      'On Redis up to Celery 5.6, a reply that cannot be encoded stops the worker permanently, so by default it only gets commands that cannot fail. If you use Flower, celery-exporter or `celery inspect stats` and `active_queues` on these workers, they already get the same commands: then `CELERY_OTEL_CONTROL_COMMANDS=stats,active_queues,active` adds them; see [remote control](brokers.md#commands-that-are-not-sent).',
  },
  'reply-failed': {
    grade: 'unknown',
    line: '{workers} did not reply to {commands}, but replied to a later ping',
    cause:
      'The worker could not encode its reply, because of a value in its settings or queues that is neither text nor number. It still runs, and does not get this command again until it is restarted.',
    remedy:
      'Look for “Control command error” or “EncodeError” in its log, and write the value as plain text, numbers, lists and maps. Or leave the command out of `control_commands`.',
  },
  'deafened-by-question': {
    grade: 'degraded',
    line: '{workers} went deaf after {commands}, so no other worker gets it',
    cause:
      'The worker could not encode its reply, because of a value in its settings or queues, or one that a bootstep adds.',
    remedy:
      'Restart the worker, look for “Control command error” in its log, and leave the command out of `control_commands`, or upgrade to Celery 5.7.',
  },
  'no-heartbeat': {
    grade: 'degraded',
    line: '{workers} replied, but sent no heartbeat',
    cause:
      'They run with `--without-heartbeat` or a long `--heartbeat-interval`, or use another `event_exchange`; or they are busy and use the solo pool.',
    remedy: 'Start them without these options, or use the workers’ `event_exchange`.',
  },
  'events-elsewhere': {
    grade: 'degraded',
    line: '{workers} replied, but no event came from the exchange "{exchange}"{others}',
    cause:
      'The workers have another `event_exchange`. Or they run with `--without-heartbeat` or a long `--heartbeat-interval`, and no task ran.',
    remedy:
      'Set `event_exchange` as in the workers; Celery’s own is `celeryev`. Or start them without these options.',
  },
  'workers-unseen': {
    grade: 'unknown',
    line: '{count:more worker} received the commands, but returned neither state nor heartbeat',
    remedy:
      'A worker with the solo pool does so while it runs a task, and `celery beat` with remote control always: then nothing is wrong. Otherwise add `stats` to `control_commands`, since other replies do not identify their process.',
  },
  'remote-control-failed': {
    grade: 'degraded',
    line: 'remote control failed: {reason}',
    cause: 'The user lacks permissions for remote control; the line has the reason.',
    remedy:
      'Fix what the line reports, grant [the permissions](brokers.md#permissions), or set `control_commands: none`.',
  },
  'remote-control-faulty': {
    grade: 'degraded',
    line: 'remote control: {reason}',
    cause:
      'A reply cannot be used: two workers have the same name, a worker serializes with pickle, or it failed to reply.',
    remedy: 'Give each worker a name of its own, such as `%n@%h`; set `task_serializer = "json"`.',
  },
  'workers-unasked': {
    grade: 'unknown',
    line: 'workers are not asked, so their pools and queues are unknown',
    remedy: 'If this is not intended, leave `control_commands` at its default.',
  },
  'task-events-on': { grade: 'fine', line: 'task events are on: {workers}' },
  'task-events-off': {
    grade: 'down',
    line: '{workers} ran tasks and sent no task events',
    cause:
      'Workers send task events only if they are configured to. Tasks declared with `send_events=False` have none.',
    remedy: EVENTS_ON,
  },
  'task-events-unknown': {
    grade: 'unknown',
    line: 'no task of {workers} was seen to start, so it is unknown whether task events are on',
    remedy: `Send a task and check again. If they are off: ${EVENTS_ON.charAt(0).toLowerCase()}${EVENTS_ON.slice(1)}`,
  },
  'tasks-unseen': {
    grade: 'degraded',
    line: 'sent and consumed, but no worker sent an event: {tasks}',
    cause:
      'Tasks declared with `send_events=False`, and workers without `-E` or in other languages, send no events. Or the messages expired or were purged.',
    remedy:
      'Declare these tasks without `send_events=False`, and let all workers of their queues send task events. If this is intended, nothing: such tasks are only counted as sent.',
  },
  'tasks-lost': {
    grade: 'degraded',
    alert: 'CeleryTasksLost',
    line: '{count:run} of {task} lost in the last {minutes} min',
    cause: 'A worker died while it ran the task, and the task was not delivered again.',
    remedy: 'Find out why the worker died, and send the task again if it may run twice.',
  },
  'task-fails-often': {
    grade: 'degraded',
    alert: 'CeleryTaskFailureRatioHigh',
    line: '{task} fails often: {percent} % of {count:run} in the last {minutes} min{errors}',
    cause: 'What it needs is away, or the task or its input has changed.',
    remedy: 'Its page has its last failures; look for what changed at that time.',
  },
  'task-first-failure': {
    grade: 'degraded',
    alert: 'CeleryTaskFirstFailure',
    line: '{tasks} failed for the first time{errors}',
    cause: 'celery-otel has not seen a failure of these tasks since it started. It reports this for an hour.',
    remedy: 'Its page has the exception; see whether the next run succeeds.',
  },
  'task-waits-long': {
    grade: 'degraded',
    alert: 'CeleryTaskWaitLong',
    line: 'a task has waited in {queue} for {minutes} min',
    cause: 'The workers of the queue are too few, or are busy with long tasks.',
    remedy: 'Add workers to the queue, or find the tasks that occupy them.',
  },
  'task-runs-long': {
    grade: 'degraded',
    alert: 'CeleryTaskRunsTooLong',
    line: 'a task of {queue} has run for {minutes} min',
    cause: 'It hangs, or needs that long.',
    remedy: 'The pages of the workers have what they run, and since when; a time limit ends tasks that hang.',
  },
  'task-stale': {
    grade: 'degraded',
    alert: 'CeleryTaskStale',
    line: '{task} has not succeeded for {ago}',
    cause:
      'It was not sent, waits, or fails: `task_stale_after` expects a success in that time. Before the first one, the time counts from the start of celery-otel.',
    remedy: 'Check that Celery beat runs and sends it; its page has its last runs and failures.',
  },
  'task-sent-on': { grade: 'fine', line: 'clients send task-sent events' },
  'task-sent-off': {
    grade: 'unknown',
    line: '{count:task} arrived, and no client sent a task-sent event',
    cause:
      'Clients send them only if they are configured to. Without them, waiting times and most queues are unknown.',
    remedy: 'Set `task_send_sent_event = True` in the programs that send tasks.',
  },
  'task-sent-unknown': {
    grade: 'unknown',
    line: 'too few tasks were sent to show whether clients send task-sent events',
    remedy:
      'Send some tasks and check again. If they are off, set `task_send_sent_event = True` in the programs that send tasks.',
  },
  'exported-already': { grade: 'fine', line: 'an instance of celery-otel already listens to these events' },
  'exported-twice': {
    grade: 'degraded',
    alert: 'CeleryOtelInstances',
    line: '{count} or more instances of celery-otel listen to these events',
    cause:
      'Each exports all counts, so sums over them are too high. One may be a connection that has ended without the broker noticing yet.',
    remedy: 'Run [one](operating.md#one-replica) for each service.',
  },
  'events-shed': {
    grade: 'degraded',
    alert: 'CeleryOtelDropsEvents',
    line: '{count:message} arrived faster than they could be read',
    cause: 'This machine is too slow or too busy for the cluster’s events, so some are lost.',
    remedy: 'Give celery-otel a processor of its own; see [lost events](brokers.md#lost-events).',
  },
  'events-unreadable': {
    grade: 'degraded',
    alert: 'CeleryOtelDropsEvents',
    line: '{count:message} could not be read: {reason}',
    cause: 'They are not Celery events in JSON; they may be serialized with pickle.',
    remedy: 'See [what is not counted](counting.md#what-is-not-counted).',
  },
  'events-lost': {
    grade: 'degraded',
    alert: 'CeleryEventsLost',
    line: '{worker} started {count:task} of which no event arrived',
    cause: 'The broker or the network dropped events, or the worker lost its connection for a moment.',
    remedy: 'See [lost events](brokers.md#lost-events).',
  },
  'events-late': {
    grade: 'degraded',
    alert: 'CeleryOtelBehind',
    line: 'events arrive {seconds} s late',
    cause: 'celery-otel or the broker is overloaded; or the clocks of workers are slow.',
    remedy: 'Give celery-otel a processor of its own, and synchronize the clocks.',
  },
  'table-full': {
    grade: 'degraded',
    alert: 'CeleryOtelTableFull',
    line: 'the table {table} is full: {count:entry} evicted',
    cause: 'There are more workers or unfinished tasks than the limit, or the broker is flooded.',
    remedy: 'Raise the limit of the table; see [all options](configuration.md#all-options).',
  },
  'series-overflow': {
    grade: 'degraded',
    alert: 'CeleryOtelSeriesOverflow',
    line: '{metric} has more series than its limit of {limit}',
    cause: 'There are more names of tasks, queues, workers or exceptions than the limit of the metric.',
    remedy: 'Raise the limit, or leave out attributes.',
  },
  'internal-error': {
    grade: 'degraded',
    alert: 'CeleryOtelDefect',
    line: 'internal errors of celery-otel: {count}',
    cause: 'A defect of celery-otel. One operation failed, and the rest goes on.',
    remedy: 'Report the line of the log.',
  },
  'queue-without-consumers': {
    grade: 'degraded',
    alert: 'CeleryQueueUnconsumed',
    afterS: 60,
    line: 'queue {queue}: {length} waiting, and no worker consumes it',
    cause: 'Its workers are not running, or consume other queues.',
    remedy:
      'Start a worker with `-Q` and the name of the queue; if none is meant to consume it, as with dead letters, name it in `parked_queues`.',
  },
  queue: { grade: 'fine', line: 'queue {queue}: {length} waiting, {consumers}' },
  'more-queues': { grade: 'fine', line: '{count} more queues' },
  'queues-unread': {
    grade: 'degraded',
    line: 'the broker’s report on the queues is incomplete: {reason}',
    cause:
      'The user may not read them, there are too many, or the broker did not reply; the line has the reason.',
    remedy: 'Fix what the line reports, or grant [the permissions](brokers.md#permissions).',
  },
  'queues-unpolled': {
    grade: 'unknown',
    line: 'the broker is not asked about queues, so their lengths are unknown',
    remedy: 'If this is not intended, leave the metrics of queues enabled.',
  },
  'queues-known': {
    grade: 'unknown',
    line: 'RabbitMQ did not list its queues: looked at {queues}',
    remedy:
      'Set `management_url` to RabbitMQ’s management API, which lists them, or name others in `queues`, if messages may wait there.',
  },
  'clock-skew': {
    grade: 'degraded',
    line: 'the clock of {worker} is {seconds} s {direction}',
    cause: 'Its clock differs from the clock of this machine.',
    remedy: 'Synchronize the clocks; waiting times and ages are wrong otherwise.',
  },
  'deaf-after-bad-reply': {
    grade: 'unknown',
    line: '{workers} may stop consuming after one reply that cannot be encoded',
    cause:
      'On Redis, Celery before 5.7 stops consuming when `inspect reserved`, `inspect scheduled` or `inspect active` meets arguments that JSON cannot encode; with the pool eventlet, the worker ends, in every version.',
    remedy:
      'Upgrade to Celery 5.7, and use a pool other than eventlet. By default, celery-otel sends such workers only commands that cannot fail; those of Flower and `celery inspect` can.',
  },
  'failure-told-twice': {
    grade: 'unknown',
    line: 'failures sent twice, as Celery does after a hard time limit: {count}; celery-otel counts each once',
  },
  'eta-beyond-visibility': {
    grade: 'degraded',
    line: '{count:task} with an ETA beyond the visibility timeout of {timeout} s, the furthest in {seconds} s',
    cause:
      'Redis redelivers a task that is not acknowledged within `visibility_timeout`; a task with an ETA is acknowledged only after its ETA.',
    remedy:
      'Raise `visibility_timeout` above the longest ETA in all workers and clients. If theirs is already higher, set the same in celery-otel.',
  },
  'runtime-beyond-visibility': {
    grade: 'degraded',
    line: 'tasks run longer than the visibility timeout of {timeout} s, for {seconds} s or more',
    cause: 'With `acks_late`, Redis redelivers them while they run.',
    remedy:
      'Raise `visibility_timeout` above the longest runtime in all workers and clients. If theirs is already higher, set the same in celery-otel.',
  },
  'visibility-expires': {
    grade: 'degraded',
    alert: 'CeleryVisibilityTimeoutNear',
    line: '{count:unacknowledged message} will soon be redelivered',
    cause: 'Workers have held them for most of `visibility_timeout`.',
    remedy: 'Raise `visibility_timeout`, or find the workers that hold them.',
  },
  'backend-accepts': { grade: 'fine', line: '{backend} accepts {signal}' },
  'backend-unanswered': { grade: 'unknown', line: '{backend} had not replied when the check ended' },
  'backend-warns': {
    grade: 'degraded',
    line: '{backend} accepts {signal} with a warning: {reason}',
    cause: 'The backend warns about the data.',
    remedy: 'Fix what the line reports.',
  },
  'backend-unavailable': {
    grade: 'down',
    alert: 'CeleryOtelExportsFail',
    line: '{backend} is not available: {reason}',
    cause:
      'Nothing listens there, port and protocol do not match, or the backend is too busy to reply or accept data; the line names the likely cause.',
    remedy:
      'Correct the endpoint or the protocol, start the backend, or give it more resources; see [exporting](exporting.md#when-something-fails).',
  },
  'backend-refuses': {
    grade: 'down',
    alert: 'CeleryOtelExportsFail',
    line: '{backend} refuses {signal}: {reason}',
    cause: 'A header, a certificate or the path is wrong; the line names the likely cause.',
    remedy:
      'Correct the headers, certificates or endpoint; see [exporting](exporting.md#when-something-fails).',
  },
  'items-dropped': {
    grade: 'degraded',
    alert: 'CeleryOtelItemsDropped',
    line: '{count} {signal} dropped: {reason}',
    cause: 'The backend refused them, or was away for longer than the queue can hold.',
    remedy: 'See [exporting](exporting.md#when-something-fails).',
  },
} as const satisfies Readonly<Record<string, Fine | Symptom>>;

export type SymptomCode = keyof typeof SYMPTOMS;

/** How many workers a line lists. */
const LISTED_MAX = 5;
const PLACEHOLDER = /\{(\w+)(?::([\w ]+))?\}/gu;

export interface Named {
  readonly kind: 'task' | 'queue' | 'worker';
  /** Without control characters. */
  readonly name: string;
}

const KINDS = ['task', 'queue', 'worker'] as const;

export interface Finding {
  readonly code: SymptomCode;
  readonly grade: Grade;
  /** The broker, backend, queue, task or worker that the finding is about; '' if it is about several or none. */
  readonly subject: string;
  /** The tasks, queues and workers that the line names. */
  readonly names: readonly Named[];
  readonly line: string;
  /** '' if there is nothing to do. */
  readonly remedy: string;
}

/**
 * @param values for the placeholders in the line; untrusted
 * @param grade if it differs from that in the table
 * @param lists names that one value enumerates
 */
export function finding(
  code: SymptomCode,
  values: Readonly<Record<string, string | number>> = {},
  grade: Grade = SYMPTOMS[code].grade,
  lists: Partial<Record<Named['kind'], readonly string[]>> = {},
): Finding {
  const row: Fine | Symptom = SYMPTOMS[code];
  const line = row.line.replaceAll(PLACEHOLDER, (_, key: string, noun?: string) => {
    const value = values[key] ?? '';
    const ofNoun = noun === undefined ? '' : ` ${value === 1 ? noun : plural(noun)}`;
    return printable(String(value)) + ofNoun;
  });
  const { broker, backend, queue, task, worker } = values;
  const subject = printable(String(broker ?? backend ?? queue ?? task ?? worker ?? ''));
  const names = KINDS.flatMap((kind) =>
    (lists[kind] ?? [values[kind]].filter((value) => value !== undefined)).map((name) => ({
      ...{ kind, name: printable(String(name)) },
    })),
  );
  return { code, grade, subject, names, line, remedy: row.remedy ?? '' };
}

function plural(noun: string): string {
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** The page of the documents about a finding, as a path in the repository. */
export function runbookOf(code: SymptomCode): string {
  const row: Fine | Symptom = SYMPTOMS[code];
  const alert = 'alert' in row ? row.alert : undefined;
  return alert === undefined
    ? 'docs/troubleshooting.md#what-the-check-finds'
    : `docs/alerts.md#${alert.toLowerCase()}`;
}

/** How many ms a finding must last before a running bridge reports it. */
export function patienceMs(code: SymptomCode): number {
  const row: Fine | Symptom = SYMPTOMS[code];
  return 'afterS' in row ? (row.afterS ?? 0) * 1000 : 0;
}

export function worstOf(grades: Iterable<Grade>): Grade {
  let worst = 0;
  for (const grade of grades) worst = Math.max(worst, GRADES.indexOf(grade));
  return GRADES[worst] ?? 'fine';
}

/**
 * @param count the number of all affected workers; `workers` has the first of them
 * @returns one finding about all of them, or none if there are none
 */
export function findingAbout(
  code: SymptomCode,
  workers: readonly string[],
  count = workers.length,
  grade: Grade = SYMPTOMS[code].grade,
): readonly Finding[] {
  if (count === 0) return [];
  const worker = workers.slice(0, LISTED_MAX);
  return [finding(code, { workers: someOf(worker, LISTED_MAX, count) }, grade, { worker })];
}

/** The first names, and how many more there are. */
export function someOf(names: readonly string[], most: number, count = names.length): string {
  const some = names.slice(0, most);
  return some.join(', ') + (count > some.length ? ` and ${count - some.length} more` : '');
}

const ORDER: readonly string[] = Object.keys(SYMPTOMS);

/** In the order in which people look for a cause: the broker first, the backend last. */
export function inTableOrder(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((one, other) => ORDER.indexOf(one.code) - ORDER.indexOf(other.code));
}

/** Turns Markdown links and code into plain text. */
export function withoutMarkdown(remedy: string): string {
  return remedy.replaceAll(/\[([^\]]+)\]\(([^)]+)\)/gu, '$1 (docs/$2)').replaceAll('`', '');
}
