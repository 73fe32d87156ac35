/** Addresses as Celery's users write them, by kombu's rules, and what a reason or a label must not show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AmqpUrl,
  type BrokerTls,
  type BrokerUrls,
  parseBrokerUrls,
  type RedisUrl,
} from '../../src/broker/broker-url.ts';
import { fc } from '../seed.ts';

function parsed(text: string): BrokerUrls {
  const outcome = parseBrokerUrls(text);
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.reason);
  return outcome.urls;
}

function amqp(text: string): AmqpUrl {
  const [url] = parsed(text);
  assert.ok('vhost' in url);
  return url;
}

function redis(text: string): RedisUrl {
  const [url, ...others] = parsed(text);
  assert.ok('db' in url);
  assert.deepEqual(others, []);
  return url;
}

function reason(text: string): string {
  const outcome = parseBrokerUrls(text);
  assert.ok(!outcome.ok, `${text} was accepted`);
  return outcome.reason;
}

/** Addresses by their virtual host. */
const VIRTUAL_HOSTS = {
  '/': 'amqp://h amqp://h/ amqp://h// amqp://h/%2F amqp://h/%2f amqp://h//?heartbeat=10 amqp://h?heartbeat=10',
  myvh: 'amqp://h/myvh',
  '/myvh': 'amqp://h//myvh amqp://h/%2Fmyvh',
  'a/b': 'amqp://h/a/b',
  café: 'amqp://h/caf%C3%A9',
  '100%': 'amqp://h/100%25',
  '%2F': 'amqp://h/%252F',
  'a+b': 'amqp://h/a+b',
};

for (const [vhost, addresses] of Object.entries(VIRTUAL_HOSTS)) {
  test(`${addresses} means the virtual host ${vhost}`, () => {
    for (const text of addresses.split(' ')) assert.equal(amqp(text).vhost, vhost, text);
  });
}

const plain = { scheme: 'amqp', port: 5672, username: 'guest', password: 'guest', vhost: '/' } as const;
const ADDRESSES: readonly (readonly [string, Partial<AmqpUrl>])[] = [
  ['amqp://', { ...plain, host: '127.0.0.1', heartbeatS: undefined, tls: undefined }],
  ['amqp://localhost', { ...plain, host: '127.0.0.1' }],
  ['pyamqp://rabbit//', { ...plain, host: 'rabbit' }],
  ['AMQP://Rabbit:5673', { ...plain, host: 'rabbit', port: 5673 }],
  ['amqp://u@h', { ...plain, host: 'h', username: 'u' }],
  ['amqp://u:@h', { ...plain, host: 'h', username: 'u' }],
  ['amqp://:p@h', { ...plain, host: 'h', password: 'p' }],
  ['amqp://u%40x:p%3A%2F%23@h:1/v', { host: 'h', port: 1, username: 'u@x', password: 'p:/#', vhost: 'v' }],
  ['amqp://u:p@ss:word@h', { ...plain, host: 'h', username: 'u', password: 'p@ss:word' }],
  ['amqp://u:a+b%zz@h', { ...plain, host: 'h', username: 'u', password: 'a+b%zz' }],
  ['amqp://[::1]', { ...plain, host: '::1' }],
  ['amqp://u:p@[2001:DB8::2]:5673/v', { host: '2001:db8::2', port: 5673, vhost: 'v' }],
  ['amqp://h?heartbeat=0', { ...plain, host: 'h', heartbeatS: 0 }],
  ['amqps://h', { ...plain, scheme: 'amqps', host: 'h', port: 5671 }],
  ['amqps://h:5673', { scheme: 'amqps', port: 5673 }],
  ['amqp://h?ssl=true', { ...plain, scheme: 'amqps', host: 'h', port: 5671 }],
  ['amqp://h:5672?ssl=1&heartbeat=10.0&insist=1', { scheme: 'amqps', port: 5672, heartbeatS: 10 }],
  ['amqp://h?ssl=True&ssl_cert_reqs=none', { ...plain, scheme: 'amqps', host: 'h', port: 5671 }],
  ['amqp://h?ssl_cert_reqs=required', { ...plain, scheme: 'amqps', host: 'h', port: 5671 }],
];

for (const [text, expected] of ADDRESSES) {
  test(`${text} is parsed as kombu does`, () => {
    const url = amqp(text);
    assert.deepEqual({ ...url, ...expected }, url);
  });
}

/** Addresses by their database. */
const DATABASES = {
  0: 'redis://h redis://h/ redis://h// sentinel://h;sentinel://g/4 redis+socket:///run/redis.sock',
  2: 'sentinel://h/2 sentinel://h/2;sentinel://g/3',
  3: 'redis://h/3 redis://h//3 redis://h/%33 redis://h/%2F3',
  5: 'redis+socket:///redis.sock?virtual_host=5 redis+socket:///redis.sock?virtual_host=/5',
  7: 'redis://h/007',
  15: 'rediss://h/15?ssl_cert_reqs=none',
  999999: 'redis://h/999999',
};

for (const [db, addresses] of Object.entries(DATABASES)) {
  test(`${addresses} means the database ${db}`, () => {
    for (const text of addresses.split(' ')) assert.equal(redis(text).db, Number(db), text);
  });
}

const server = { scheme: 'redis', username: '', password: '', db: 0, tls: undefined } as const;
const at = (host: string, port = 6379) => ({ host, port });
const verified: BrokerTls = {
  ...{ caFile: undefined, certFile: undefined, keyFile: undefined, verify: true, checkHost: true },
};
const REDIS_ADDRESSES: readonly (readonly [string, Partial<RedisUrl>])[] = [
  ['redis://', { ...server, at: at('127.0.0.1'), label: 'redis://127.0.0.1:6379/0' }],
  ['redis://localhost', { ...server, at: at('127.0.0.1') }],
  ['REDIS://Cache:6380/1', { ...server, at: at('cache', 6380), db: 1, label: 'redis://cache:6380/1' }],
  ['redis://:pw@h', { ...server, at: at('h'), password: 'pw', label: 'redis://:***@h:6379/0' }],
  ['redis://u@h', { ...server, at: at('h'), username: 'u', label: 'redis://u@h:6379/0' }],
  ['redis://u:@h', { ...server, at: at('h'), username: 'u', label: 'redis://u@h:6379/0' }],
  [
    'redis://u%40x:p%3A%2F%23%25@h/2',
    {
      ...server,
      at: at('h'),
      username: 'u@x',
      password: 'p:/#%',
      db: 2,
      label: 'redis://u%40x:***@h:6379/2',
    },
  ],
  ['redis://:p@ss:word@h', { ...server, at: at('h'), password: 'p@ss:word' }],
  ['redis://[::1]', { ...server, at: at('::1'), label: 'redis://[::1]:6379/0' }],
  ['redis://:pw@[2001:DB8::2]:6380/1', { at: at('2001:db8::2', 6380), password: 'pw', db: 1 }],
  ['rediss://h', { ...server, scheme: 'rediss', at: at('h'), tls: verified, label: 'rediss://h:6379/0' }],
  ['redis://h?ssl_cert_reqs=required', { scheme: 'rediss', at: at('h'), tls: verified }],
  [
    'redis+socket:///run/redis.sock',
    {
      ...server,
      scheme: 'redis+socket',
      at: '/run/redis.sock',
      label: 'redis+socket:///run/redis.sock?virtual_host=0',
    },
  ],
  [
    'redis+socket://u:pw@/run/a%20b.sock?virtual_host=1',
    {
      at: '/run/a b.sock',
      username: 'u',
      password: 'pw',
      db: 1,
      label: 'redis+socket://u:***@/run/a%20b.sock?virtual_host=1',
    },
  ],
  ['sentinel://h', { ...server, scheme: 'sentinel', at: [at('h', 26_379)], label: 'sentinel://h:26379/0' }],
  [
    'sentinel://u:one@a:1/1; SENTINEL://v:two@[::2]/2 ;sentinel://c',
    {
      ...server,
      scheme: 'sentinel',
      at: [at('a', 1), at('::2', 26_379), at('c', 26_379)],
      username: 'u',
      password: 'one',
      db: 1,
      label: 'sentinel://u:***@a:1,[::2]:26379,c:26379/1',
    },
  ],
  ['sentinel://a?ssl_cert_reqs=required;sentinel://b', { scheme: 'sentinel', tls: verified }],
];

for (const [text, expected] of REDIS_ADDRESSES) {
  test(`${text} is parsed as kombu does, but verifies TLS`, () => {
    const url = redis(text);
    assert.deepEqual({ ...url, ...expected }, url);
  });
}

test('sentinels are one address, wherever they are in the list', () => {
  assert.deepEqual(
    parsed('redis://a;sentinel://b;amqp://c;sentinel://d').map(({ label }) => label),
    ['redis://a:6379/0', 'sentinel://b:26379,d:26379/0', 'amqp://guest:***@c:5672//'],
  );
});

const UNVERIFIED = { ...verified, verify: false };
/** Queries, and what they say of TLS. For a client, Python’s `ssl.CERT_OPTIONAL` means `CERT_REQUIRED`. */
const TLS: readonly (readonly [query: string, BrokerTls])[] = [
  ['', verified],
  ...['required', 'CERT_REQUIRED', 'optional', 'CERT_OPTIONAL'].map(
    (reqs) => [`?ssl_cert_reqs=${reqs}`, verified] as const,
  ),
  ['?ssl_cert_reqs=none', UNVERIFIED],
  ['?ssl_cert_reqs=CERT_NONE', UNVERIFIED],
  ['?ssl_check_hostname=True', verified],
  ['?ssl_check_hostname=false', { ...verified, checkHost: false }],
  [
    '?ssl_ca_certs=/a/ca.pem&ssl_certfile=b%20c.pem&ssl_keyfile=/k',
    { ...verified, caFile: '/a/ca.pem', certFile: 'b c.pem', keyFile: '/k' },
  ],
];

for (const [query, tls] of TLS) {
  test(`TLS verifies the server unless the address explicitly disables it: ${query || 'without a query'}`, () => {
    assert.deepEqual(amqp(`amqps://h${query}`).tls, tls);
    assert.deepEqual(redis(`rediss://h${query}`).tls, tls);
  });
}

test('broker_use_ssl applies to addresses without ssl_ keys, but not to a Unix socket; it sets the port of AMQP only', () => {
  const setting = { ...verified, caFile: '/ca.pem' };
  const withSetting = (text: string) => {
    const outcome = parseBrokerUrls(text, setting);
    assert.ok(outcome.ok);
    return outcome.urls;
  };
  const amqpUrls = withSetting(
    'amqp://a;amqp://b:1;amqps://c;amqp://d?ssl_cert_reqs=none;amqp://e?heartbeat=5',
  );
  assert.deepEqual(
    amqpUrls.map((url) => ('vhost' in url ? [url.scheme, url.port, url.tls] : [])),
    [
      ['amqps', 5671, setting],
      ['amqps', 1, setting],
      ['amqps', 5671, setting],
      ['amqps', 5671, UNVERIFIED],
      ['amqps', 5671, setting],
    ],
  );
  const redisUrls = withSetting(
    'redis://a;rediss://b:1;redis://c?ssl_cert_reqs=none;sentinel://d;redis+socket:///e',
  );
  assert.deepEqual(
    redisUrls.map((url) => ('db' in url ? [url.scheme, url.at, url.tls] : [])),
    [
      ['rediss', at('a'), setting],
      ['rediss', at('b', 1), setting],
      ['rediss', at('c'), UNVERIFIED],
      ['sentinel', [at('d', 26_379)], setting],
      ['redis+socket', '/e', undefined],
    ],
  );
  assert.deepEqual(withSetting('recording:a.ndjson'), parsed('recording:a.ndjson'));
});

test('the addresses of a list are in order', () => {
  assert.deepEqual(
    parsed('amqp://a; amqps://b:1 ;pyamqp://c').map((url) => url.label),
    ['amqp://guest:***@a:5672//', 'amqps://guest:***@b:1//', 'amqp://guest:***@c:5672//'],
  );
});

test('a recording has a file and a speed, 1 by default', () => {
  const recording = (file: string, speed: number) => [
    { scheme: 'recording', file, speed, label: `recording:${file}` },
  ];
  assert.deepEqual(parsed('recording:shop.ndjson'), recording('shop.ndjson', 1));
  assert.deepEqual(parsed('recording:/a b/50%.ndjson?speed=2.5'), recording('/a b/50%.ndjson', 2.5));
  assert.deepEqual(
    parsed('recording:what?.ndjson?speed=max'),
    recording('what?.ndjson', Number.POSITIVE_INFINITY),
  );
});

/** Why addresses are refused, each of these for the same reason. */
const REASONS: readonly (readonly [RegExp, ...addresses: readonly string[]])[] = [
  [/is empty/u, ''],
  [/^address 1 of 2: .*is empty/u, ';amqp://a'],
  [/^address 2 of 3: .*is empty/u, 'amqp://a;;', 'sentinel://a;;'],
  [/no scheme/u, 'localhost:5672', 'rabbit', 'redis:h'],
  [/^sqs:\/\/ is not supported; expected amqp:\/\//u, 'sqs://'],
  [/^valkey:\/\/ is not supported; write redis:\/\/$/u, 'valkey://h'],
  [/^address 2 of 2: valkey:\/\/ is not supported/u, 'redis://h;Valkey://:secret@h'],
  [/^librabbitmq:\/\/ is not supported; write amqp:\/\/$/u, 'librabbitmq://h'],
  [/^sqla\+sqlite:\/\/ is not supported; expected amqp:\/\//u, 'sqla+sqlite:///x'],
  [/^kafka:\/\/ is not supported/u, 'kafka://h'],
  [
    /:\/\/ is not supported; Celery does not support Redis Cluster as a broker; use/u,
    ...['rediscluster://h', 'redis+cluster://h', 'redisscluster://h'],
  ],
  [/^redis\+unix:\/\/ is not known/u, 'redis+unix:///x'],
  [/^ampq:\/\/ is not known/u, 'ampq://h'],
  [
    /the database after the slash must be a number/u,
    ...['x', '-1', '1.5', '3/', '//3', '1e3', '1234567', '٣'].map((path) => `redis://h/${path}`),
    ...['sentinel://a/x', 'redis+socket:///s?virtual_host=x'],
  ],
  [/percent-encoded/u, 'redis://h/0#x', 'amqp://h/v#x'],
  [/port/u, 'redis://h:0', 'redis://h:70000', 'amqp://h:0', 'amqp://h:65536', 'amqp://h:5672x'],
  [/port|host/u, 'redis://::1', 'amqp://::1', 'amqp://[::1'],
  [/host/u, 'amqp://[rabbit]', 'amqp://ra%00bbit'],
  [/^sentinel 2 of 2: the port/u, 'sentinel://a;sentinel://b:x'],
  [/the query key virtual_host is not known; known are ssl_cert_reqs/u, 'redis://h?virtual_host=1'],
  [/the query key heartbeat is not known/u, 'redis://h?heartbeat=1'],
  [/the query key ssl is not known/u, 'redis://h?ssl=true'],
  [/the query key master_name is not known/u, 'sentinel://a?master_name=m'],
  [/the query key hartbeat is not known/u, 'amqp://h?hartbeat=1'],
  [/a query key is not known/u, 'amqp://h?1=1'],
  [/key ssl_cert_reqs is not known; known are virtual_host/u, 'redis+socket:///s?ssl_cert_reqs=none'],
  [/ssl_cert_reqs must be/u, 'rediss://h?ssl_cert_reqs=maybe', 'amqps://h?ssl_cert_reqs=maybe'],
  [/ssl_check_hostname must be true or false/u, 'rediss://h?ssl_check_hostname=1'],
  [/ssl_keyfile has no value/u, 'rediss://h?ssl_keyfile='],
  [/ssl_ca_certs has no value/u, 'amqps://h?ssl_ca_certs='],
  [/ssl must be true or absent/u, 'amqp://h?ssl=false'],
  [
    /three slashes: redis\+socket:\/\/\/path/u,
    ...['', '/', 'run/redis.sock', ':pw@run/redis.sock'].map((rest) => `redis+socket://${rest}`),
  ],
  [/heartbeat/u, 'amqp://h?heartbeat=soon', 'amqp://h?heartbeat=-1'],
  [/heartbeat has no value/u, 'amqp://h?heartbeat'],
  [/no file/u, 'recording:', 'recording:?speed=1'],
  [/speed/u, ...['speed=0', 'speed=fast', 'speed=1e400', 'loop=1'].map((query) => `recording:f?${query}`)],
  [/path/u, 'recording://f'],
  [
    /^address 1 of 2: a recording must be the only address/u,
    'recording:f;sentinel://a',
    'recording:f;amqp://h',
  ],
];

for (const [pattern, ...addresses] of REASONS) {
  test(`'${addresses.join("', '")}' refused with ${pattern}`, () => {
    for (const text of addresses) assert.match(reason(text), pattern, text);
  });
}

/** All texts from one of each. */
const COMBINED = {
  starts:
    'amqp://u: amqps://u: redis://: redis://u: rediss://u: redis+socket://: sentinel://a;sentinel://u: sentinel://u: valkey://: rediscluster://: u: amqp:/u: amqp://a;amqp://u: ://u:',
  secrets: 'hunter2 hun/ter2 hun#ter2 hun?ter2 hun@ter2 5672/hunter2 h%75nter2 :hunter2',
  ends: '@h @h:x @h// @h/v?heartbeat=x @h/v?what=1 @h/v# @h/3 @/s?virtual_host=1',
};

test('no label or reason contains a password, however malformed the address is', () => {
  for (const start of COMBINED.starts.split(' '))
    for (const secret of COMBINED.secrets.split(' '))
      for (const end of COMBINED.ends.split(' ')) {
        const text = `${start}${secret}${end}`;
        const outcome = parseBrokerUrls(text);
        const shown = outcome.ok ? outcome.urls.map((url) => url.label).join() : outcome.reason;
        assert.doesNotMatch(shown, /ter2/, `${text} gives: ${shown}`);
      }
  // Without a host after it, an intended password is parsed as a port.
  assert.doesNotMatch(reason('amqp://u:hunter2'), /hunter2/);
});

test('any text gives an outcome, and a label has no control characters', () => {
  const schemes = ['amqp://', 'amqps://', 'redis://', 'redis+socket://', 'sentinel://'];
  const pieces = fc.constantFrom(...schemes, ...'@:/?&=%[];#', '//');
  const text = fc
    .array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 5 })))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.constantFrom('', ...schemes), text, (scheme, rest) => {
      const outcome = parseBrokerUrls(scheme + rest);
      if (!outcome.ok) assert.ok(outcome.reason.length > 0);
      else
        for (const url of outcome.urls)
          if (url.scheme !== 'recording') assert.doesNotMatch(url.label, /\p{Cc}/u);
    }),
    { numRuns: 2000 },
  );
});

test('percent-encoded parts are decoded', () => {
  const part = fc.string({ unit: 'grapheme', minLength: 1 });
  fc.assert(
    fc.property(part, part, part, (username, password, vhost) => {
      const [u, p, v] = [username, password, vhost].map(encodeURIComponent);
      const url = amqp(`amqp://${u}:${p}@h/${v}`);
      assert.deepEqual([url.username, url.password, url.vhost], [username, password, vhost]);
      const { username: user, password: secret, at: socket } = redis(`redis+socket://${u}:${p}@/${v}`);
      assert.deepEqual([user, secret, socket], [username, password, `/${vhost}`]);
    }),
  );
});

test('line breaks and tabs in an address are dropped, as Python does', () => {
  const parsed = parseBrokerUrls('\n redis://:se\n\tcret@h\r\n/3\n');
  assert.ok(parsed.ok);
  const [url] = parsed.urls;
  assert.deepEqual('db' in url && [url.password, url.db, url.at], ['secret', 3, { host: 'h', port: 6379 }]);
});

test('an empty address at the end is none', () => {
  for (const text of ['redis://a/0', 'sentinel://a;sentinel://b', 'amqp://a;amqp://b'])
    assert.deepEqual(parseBrokerUrls(`${text}; `), parseBrokerUrls(text));
});
