/**
 * The tables of environment variables for Celery’s broker settings that celery-otel does not read, with the reasons.
 * Variables of these tables that are set cause warnings, not mistakes, since workers and celery-otel may share an
 * environment. It prints no values.
 */

const WORKERS = 'only workers and clients use it';
const RETRIES = 'celery-otel has its own reconnection rules, see docs/brokers.md';
const OF_ADDRESS = 'it is part of CELERY_BROKER_URL';

/** Variables for Celery’s `broker_…` settings (app/defaults.py), with the reason why they have no effect. */
export const UNREAD: ReadonlyMap<string, string> = new Map([
  ['CELERY_BROKER_READ_URL', 'the events are read from CELERY_BROKER_URL'],
  ['CELERY_BROKER_WRITE_URL', 'the events are read from CELERY_BROKER_URL'],
  ['CELERY_BROKER_TRANSPORT', 'the scheme of CELERY_BROKER_URL determines it'],
  ['CELERY_BROKER_HOST', OF_ADDRESS],
  ['CELERY_BROKER_PORT', OF_ADDRESS],
  ['CELERY_BROKER_USER', OF_ADDRESS],
  ['CELERY_BROKER_PASSWORD', OF_ADDRESS],
  ['CELERY_BROKER_VHOST', OF_ADDRESS],
  ['CELERY_BROKER_POOL_LIMIT', WORKERS],
  ['CELERY_BROKER_POOL_ACQUIRE_TIMEOUT', WORKERS],
  ['CELERY_BROKER_HEARTBEAT_CHECKRATE', 'only broker_heartbeat determines when a connection is dead'],
  ['CELERY_BROKER_CHANNEL_ERROR_RETRY', RETRIES],
  ['CELERY_BROKER_CONNECTION_RETRY', RETRIES],
  ['CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP', RETRIES],
  ['CELERY_BROKER_CONNECTION_MAX_RETRIES', RETRIES],
  ['CELERY_BROKER_NATIVE_DELAYED_DELIVERY_QUEUE_TYPE', WORKERS],
]);

/** Celery’s variable names before version 4 (app/defaults.py), with the variable that is read instead. */
export const OLD_NAMES: ReadonlyMap<string, string> = new Map([
  ['BROKER_URL', 'CELERY_BROKER_URL'],
  ['BROKER_TRANSPORT_OPTIONS', 'CELERY_BROKER_TRANSPORT_OPTIONS'],
  ['BROKER_USE_SSL', 'CELERY_BROKER_USE_SSL'],
  ['BROKER_HEARTBEAT', 'CELERY_BROKER_HEARTBEAT'],
  ['BROKER_LOGIN_METHOD', 'CELERY_BROKER_LOGIN_METHOD'],
  ['BROKER_FAILOVER_STRATEGY', 'CELERY_BROKER_FAILOVER_STRATEGY'],
  ['BROKER_CONNECTION_TIMEOUT', 'CELERY_BROKER_CONNECTION_TIMEOUT'],
  ['CELERY_DEFAULT_QUEUE', 'CELERY_TASK_DEFAULT_QUEUE'],
  ['CELERY_QUEUES', 'CELERY_OTEL_QUEUES'],
]);

/** Kombu’s serializers whose messages are never read. */
const UNREAD_SERIALIZERS: readonly string[] = ['pickle', 'yaml', 'msgpack'];

/** Variables that select a serializer, with the consequence of selecting one of the above. */
export const SERIALIZERS: ReadonlyMap<string, string> = new Map([
  ['CELERY_EVENT_SERIALIZER', 'no event can be read'],
  ['CELERY_TASK_SERIALIZER', 'workers use it for replies, so their pools and queues are unknown'],
]);

/** Warnings about the variables that are set; an empty variable is unset. */
export function unreadVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const text = (name: string) => env[name]?.trim() ?? '';
  const isSet = (name: string) => text(name) !== '';
  const unread = [...UNREAD].filter(([name]) => isSet(name));
  const old = [...OLD_NAMES].filter(([name, read]) => isSet(name) && !isSet(read));
  const unreadable = [...SERIALIZERS].filter(([name]) => UNREAD_SERIALIZERS.includes(text(name)));
  return [
    ...unread.map(([name, because]) => `${name} has no effect: ${because}`),
    ...old.map(([name, read]) => `${name} has no effect: it is an old name; set ${read}`),
    ...unreadable.map(
      ([name, missing]) => `with ${name} other than json, ${missing} (docs/brokers.md, “Serializers”)`,
    ),
  ];
}
