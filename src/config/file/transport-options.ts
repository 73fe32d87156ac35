/**
 * Reads Celery's `broker_transport_options`, mostly kombu’s options for Redis, and has the tables of options without
 * effect here. Options with an effect are rows of `options.ts`, except for the TLS of sentinels, which is read here.
 */
import type { BrokerTls, BrokerUrls } from '../../broker/broker-url.ts';
import { trueOrFalse } from '../format/formats.ts';
import { hasBroker, unusedWith } from '../option-rules.ts';
import { OPTIONS, SENTINEL_KWARGS, servicePath, serviceRows, TRANSPORT_OPTIONS } from '../options.ts';
import { REDIS_TLS, tlsByRedis } from './broker-tls.ts';
import type { FileValue } from './file-value.ts';
import { any, map, present, refused } from './shape.ts';

const KEYS = 'only workers use it';
const RESTORING = 'only workers restore messages';
const RETRIES = 'celery-otel has its own reconnection rules, see docs/brokers.md';
const CONNECTIONS = 'celery-otel manages and checks its own connections';
const PUBLISHING = 'only the publishers of messages use it';

/**
 * Options of kombu (transport/redis.py, transport/virtual/base.py, connection.py), with the reason why they have no
 * effect here.
 */
export const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  queue_order_strategy: 'only workers take messages from queues',
  polling_interval: 'only workers take messages from queues',
  unacked_mutex_key: KEYS,
  unacked_mutex_expire: KEYS,
  ack_emulation: RESTORING,
  unacked_restore_limit: RESTORING,
  unacked_restore_interval: RESTORING,
  unacked_restore_throttle: RESTORING,
  body_encoding: PUBLISHING,
  deadletter_queue: PUBLISHING,
  max_connections: CONNECTIONS,
  retry_on_timeout: CONNECTIONS,
  socket_keepalive_options: CONNECTIONS,
  reauth_check_interval: CONNECTIONS,
  socket_connect_timeout: '`broker_connection_timeout` limits it',
  max_retries: RETRIES,
  interval_start: RETRIES,
  interval_step: RETRIES,
  interval_max: RETRIES,
  connect_retries_timeout: RETRIES,
  min_other_sentinels: 'celery-otel trusts a sentinel without asking others',
  sentinel_fanout_compat: 'both names of the channels are always subscribed to',
};

/**
 * Arguments of py-amqp (connection.py), and other keys that guides for RabbitMQ recommend, with the reason why they
 * have no effect here.
 */
export const WITHOUT_EFFECT_ON_AMQP: Readonly<Record<string, string>> = {
  confirm_publish: PUBLISHING,
  confirm_timeout: PUBLISHING,
  client_properties: 'celery-otel has its own name in the list of connections',
  connect_timeout: '`broker_connection_timeout` limits it',
  read_timeout: '`broker_heartbeat` determines when a connection is dead',
  write_timeout: '`broker_heartbeat` determines when a connection is dead',
  socket_settings: CONNECTIONS,
  frame_max: CONNECTIONS,
  channel_max: CONNECTIONS,
};

/**
 * Arguments of redis-py’s clients for sentinels (client.py) that are not options, with the reason why they have no
 * effect here.
 */
export const WITHOUT_EFFECT_ON_SENTINELS: Readonly<Record<string, string>> = {
  socket_timeout: '`broker_connection_timeout` limits it',
  socket_connect_timeout: '`broker_connection_timeout` limits it',
  socket_keepalive: CONNECTIONS,
  socket_keepalive_options: CONNECTIONS,
  retry_on_timeout: CONNECTIONS,
  max_connections: CONNECTIONS,
  health_check_interval: CONNECTIONS,
  client_name: CONNECTIONS,
  db: 'sentinels have no databases',
};

/** The keys of the options in one of the two maps. */
const optionsIn = (within: string): readonly string[] =>
  serviceRows().flatMap(([key]) => (OPTIONS[key].within === within ? servicePath(key).slice(-1) : []));

const SENTINEL_OPTIONS = optionsIn(SENTINEL_KWARGS);
const OWN_OPTIONS = optionsIn(TRANSPORT_OPTIONS);

/** The arguments about TLS of redis-py’s clients for sentinels. */
export const SENTINEL_TLS = { ssl: present(trueOrFalse), ...REDIS_TLS };

const sentinelKwargs = map(SENTINEL_TLS, {
  others: [...SENTINEL_OPTIONS, ...Object.keys(WITHOUT_EFFECT_ON_SENTINELS)],
});

const transportOptions = map(
  {
    sentinel_kwargs: any,
    // With AMQP, kombu prefers these two keys to the settings of that name (connection.py, `_extract_params`).
    heartbeat: refused('set broker_heartbeat'),
    login_method: refused('set broker_login_method'),
  },
  {
    of: 'transport options',
    others: [...OWN_OPTIONS, ...Object.keys(WITHOUT_EFFECT), ...Object.keys(WITHOUT_EFFECT_ON_AMQP)],
  },
);

/**
 * The TLS of sentinels. Reports unknown keys; with a recording, all keys except options, which another rule reports. Keys for
 * another kind of broker are accepted, since an application may run with either.
 * @param urls undefined if they are missing or invalid; then nothing is checked
 */
export function readTransportOptions(
  options: FileValue | undefined,
  urls: BrokerUrls | undefined,
): BrokerTls | undefined {
  if (options === undefined || !options.expect('map', 'transport options') || urls === undefined)
    return undefined;
  const unused = unusedWith(urls, 'any');
  if (unused !== undefined) {
    refuseKeys(options, OWN_OPTIONS, unused);
    return undefined;
  }
  const kwargs = transportOptions.read(options)?.sentinel_kwargs;
  return kwargs && readSentinelTls(kwargs, urls);
}

function readSentinelTls(kwargs: FileValue, urls: BrokerUrls): BrokerTls | undefined {
  const keys = sentinelKwargs.read(kwargs);
  if (keys === undefined || !hasBroker(urls, 'sentinel')) return undefined;
  if (keys.ssl === true) return tlsByRedis(keys, kwargs);
  const ssl = kwargs.entries().find(([key]) => key.startsWith('ssl_'))?.[1];
  return ssl?.complain('ssl: true beside it, since without it there is no TLS');
}

/** Reports each key that is not in `but`. */
function refuseKeys(value: FileValue, but: readonly string[], reason: string): void {
  for (const [key, entry] of value.entries()) {
    const isMap = key === 'sentinel_kwargs' && entry.entries().length > 0;
    if (isMap) refuseKeys(entry, SENTINEL_OPTIONS, reason);
    else if (!but.includes(key)) entry.complain(reason);
  }
}
