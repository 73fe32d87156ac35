/**
 * The table of variables with names of Celery’s settings about brokers that celery-otel does not read, each with the reason:
 * they are told, since environments are shared. The others are options, or maps. It prints no values.
 */

const WORKERS = 'only workers and clients use it';
const RETRIES = 'how celery-otel connects again is in docs/brokers.md';
const OF_ADDRESS = 'it is part of CELERY_BROKER_URL';

/** Celery’s `broker_…` (app/defaults.py). */
export const UNREAD: ReadonlyMap<string, string> = new Map([
  ['CELERY_BROKER_READ_URL', 'the events are read from CELERY_BROKER_URL'],
  ['CELERY_BROKER_WRITE_URL', 'the events are read from CELERY_BROKER_URL'],
  ['CELERY_BROKER_TRANSPORT', 'the scheme of CELERY_BROKER_URL says it'],
  ['CELERY_BROKER_HOST', OF_ADDRESS],
  ['CELERY_BROKER_PORT', OF_ADDRESS],
  ['CELERY_BROKER_USER', OF_ADDRESS],
  ['CELERY_BROKER_PASSWORD', OF_ADDRESS],
  ['CELERY_BROKER_VHOST', OF_ADDRESS],
  ['CELERY_BROKER_POOL_LIMIT', WORKERS],
  ['CELERY_BROKER_POOL_ACQUIRE_TIMEOUT', WORKERS],
  ['CELERY_BROKER_HEARTBEAT_CHECKRATE', 'broker_heartbeat alone says when a connection is dead'],
  ['CELERY_BROKER_CHANNEL_ERROR_RETRY', RETRIES],
  ['CELERY_BROKER_CONNECTION_RETRY', RETRIES],
  ['CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP', RETRIES],
  ['CELERY_BROKER_CONNECTION_MAX_RETRIES', RETRIES],
  ['CELERY_BROKER_NATIVE_DELAYED_DELIVERY_QUEUE_TYPE', WORKERS],
]);

/** What is said of them; empty ones are unset. */
export function unreadVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return [...UNREAD].flatMap(([name, because]) =>
    (env[name]?.trim() ?? '') === '' ? [] : [`${name} has no effect: ${because}`],
  );
}
