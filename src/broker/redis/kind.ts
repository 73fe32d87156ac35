/** The row of Redis: a server by TCP or Unix socket, or the master behind sentinels. It opens no connection. */
import { type BrokerKind, brokerKind, numberFaults } from '../broker-kind.ts';
import { PORT_MAX, printable, shownPlace } from '../server/address.ts';
import { currentPassword } from '../server/password-file.ts';
import { REDIS_CAUSES } from './causes.ts';
import {
  DATABASE_MAX,
  parseRedisSocketUrl,
  parseRedisUrl,
  parseSentinelUrls,
  type RedisPlace,
  type RedisUrl,
} from './url.ts';

const NO_CLUSTER =
  'Celery does not support Redis Cluster as a broker; use the address of a server outside cluster mode, or of its sentinels';

export const REDIS: BrokerKind<RedisUrl, 'redis', 'redis' | 'sentinel'> = brokerKind({
  name: 'redis',
  title: 'Redis',
  protocol: 'Redis',
  schemes: {
    redis: { form: 'address', parse: parseRedisUrl },
    rediss: { form: 'address', parse: parseRedisUrl, isSecure: true },
    'redis+socket': { form: 'address', parse: parseRedisSocketUrl },
    sentinel: { form: 'joined', parse: parseSentinelUrls },
  },
  refusedSchemes: {
    valkey: 'write redis://',
    'redis+cluster': NO_CLUSTER,
    rediscluster: NO_CLUSTER,
    redisscluster: NO_CLUSTER,
  },
  options: {
    redis: {
      schemes: ['redis', 'rediss', 'redis+socket', 'sentinel'],
      unused: ['no Redis option', 'broker_url has no Redis address'],
      only: 'Redis only',
    },
    sentinel: {
      schemes: ['sentinel'],
      unused: ['no option of sentinels', 'broker_url has no sentinel:// address'],
      only: 'behind sentinels only',
    },
  },
  system: 'redis',
  isReplay: false,
  hasExchanges: false,
  hasVisibilityTimeout: true,
  failedReplyStopsWorker: true,
  useSsl: {
    keys: 'redis-py',
    insteadOfTrue:
      'rediss:// or ssl_ keys in broker_url, or a map of ssl_ keys here: with Redis, Celery ignores true',
    without: { 'redis+socket': 'over a Unix socket there is no TLS' },
  },
  causes: REDIS_CAUSES,
  place({ at }) {
    if (typeof at === 'string') return { address: at, port: undefined, shown: printable(at), isSingle: true };
    const places = placesOf(at);
    const [{ host, port } = { host: '', port: undefined }] = places;
    return { address: host, port, shown: places.map(shownPlace).join(','), isSingle: 'host' in at };
  },
  secrets: (url, { redis }) => [currentPassword(url), redis.sentinel.password ?? ''],
  parameters: () => ({}),
  faults: ({ at, db }) => [
    ...numberFaults('db', db, 0, DATABASE_MAX),
    ...(typeof at === 'string'
      ? []
      : placesOf(at).flatMap(({ port }, index) =>
          numberFaults('port' in at ? 'at.port' : `at[${index}].port`, port, 1, PORT_MAX),
        )),
  ],
  atFullSpeed: (url) => url,
});

function placesOf(at: Exclude<RedisUrl['at'], string>): readonly RedisPlace[] {
  return 'host' in at ? [at] : at;
}
