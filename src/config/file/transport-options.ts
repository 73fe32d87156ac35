/**
 * Celery's `broker_transport_options` in a configuration file, which are those of kombu for Redis, with a table of the ones
 * that have no effect here. Those that have one are options, except for the TLS of sentinels.
 */
import type { BrokerTls, BrokerUrls } from '../../broker/broker-url.ts';
import { trueOrFalse } from '../format/formats.ts';
import { hasBroker, unusedWith } from '../option-rules.ts';
import { OPTIONS, SENTINEL_KWARGS, servicePath, serviceRows, TRANSPORT_OPTIONS } from '../options.ts';
import { REDIS_TLS, tlsByRedis } from './broker-tls.ts';
import type { FileValue } from './file-value.ts';
import { any, map, present } from './shape.ts';

const KEYS = 'only workers use the keys that it is about';
const RESTORING = 'only workers restore messages';
const RETRIES = 'how celery-otel connects again is in docs/brokers.md';
const CONNECTIONS = 'celery-otel has one connection, and checks it by itself';
const PUBLISHING = 'only the publishers of messages use it';

/** Options of kombu (transport/redis.py, transport/virtual/base.py, connection.py) → why they have no effect here. */
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
  min_other_sentinels: 'a sentinel is believed without asking others',
  sentinel_fanout_compat: 'both names of the channels are always subscribed to',
};

/** Arguments of py-amqp (connection.py), which takes any others too, and what guides for RabbitMQ show beside them. */
export const WITHOUT_EFFECT_ON_AMQP: Readonly<Record<string, string>> = {
  confirm_publish: PUBLISHING,
  confirm_timeout: PUBLISHING,
  client_properties: 'celery-otel has its own name in the list of connections',
  connect_timeout: '`broker_connection_timeout` limits it',
  read_timeout: '`broker_heartbeat` says when a connection is dead',
  write_timeout: '`broker_heartbeat` says when a connection is dead',
  socket_settings: CONNECTIONS,
  frame_max: CONNECTIONS,
  channel_max: CONNECTIONS,
};

/** The keys of options in such a map. */
const optionsIn = (within: string): readonly string[] =>
  serviceRows().flatMap(([key]) => (OPTIONS[key].within === within ? servicePath(key).slice(-1) : []));

const SENTINEL_OPTIONS = optionsIn(SENTINEL_KWARGS);
const OWN_OPTIONS = optionsIn(TRANSPORT_OPTIONS);

/** Arguments for the clients of sentinels, of redis-py. */
export const SENTINEL_TLS = { ssl: present(trueOrFalse), ...REDIS_TLS };

const sentinelKwargs = map(SENTINEL_TLS, { others: SENTINEL_OPTIONS });

const transportOptions = map(
  { sentinel_kwargs: any },
  {
    of: 'transport options',
    others: [...OWN_OPTIONS, ...Object.keys(WITHOUT_EFFECT), ...Object.keys(WITHOUT_EFFECT_ON_AMQP)],
  },
);

/** Those of Redis are for it alone, which a rule of theirs says. */
const amqpOptions = map(
  { sentinel_kwargs: any },
  {
    of: 'transport options',
    others: [...OWN_OPTIONS, ...Object.keys(WITHOUT_EFFECT), ...Object.keys(WITHOUT_EFFECT_ON_AMQP)],
  },
);

/**
 * The TLS of sentinels. Reports unknown keys, and without Redis all but the options, which have a rule of their own.
 * @param urls undefined if they are missing or invalid
 */
export function readTransportOptions(
  options: FileValue | undefined,
  urls: BrokerUrls | undefined,
): BrokerTls | undefined {
  if (options === undefined) return undefined;
  if (urls === undefined || hasBroker(urls, 'redis')) {
    const kwargs = transportOptions.read(options)?.sentinel_kwargs;
    return kwargs && readSentinelTls(kwargs, urls);
  }
  if (!options.expect('map', 'transport options')) return undefined;
  const reason = unusedWith(urls, 'any');
  if (reason !== undefined) refuseKeys(options, OWN_OPTIONS, reason);
  const kwargs = reason === undefined ? amqpOptions.read(options)?.sentinel_kwargs : undefined;
  if (kwargs !== undefined) refuseKeys(kwargs, SENTINEL_OPTIONS, unusedWith(urls, 'sentinel') ?? '');
  return undefined;
}

function readSentinelTls(kwargs: FileValue, urls: BrokerUrls | undefined): BrokerTls | undefined {
  const keys = sentinelKwargs.read(kwargs);
  const unused = unusedWith(urls, 'sentinel');
  if (unused !== undefined) refuseKeys(kwargs, SENTINEL_OPTIONS, unused);
  if (keys === undefined || unused !== undefined) return undefined;
  if (keys.ssl === true) return tlsByRedis(keys, kwargs);
  const ssl = kwargs.entries().find(([key]) => key.startsWith('ssl_'))?.[1];
  return ssl?.complain('ssl: true beside it, since without it there is no TLS');
}

/** Reports each key but some. */
function refuseKeys(value: FileValue, but: readonly string[], reason: string): void {
  for (const [key, entry] of value.entries()) {
    const isMap = key === 'sentinel_kwargs' && entry.entries().length > 0;
    if (isMap) refuseKeys(entry, SENTINEL_OPTIONS, reason);
    else if (!but.includes(key)) entry.complain(reason);
  }
}
