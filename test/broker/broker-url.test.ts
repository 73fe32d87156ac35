/** Addresses as Celery's users write them, by kombu's rules, and what a reason or a label must not show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AmqpUrl, type BrokerUrls, parseBrokerUrls } from '../../src/broker/broker-url.ts';

function parsed(text: string): BrokerUrls {
  const outcome = parseBrokerUrls(text);
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.reason);
  return outcome.urls;
}

function amqp(text: string): AmqpUrl {
  const [url] = parsed(text);
  assert.ok(url.scheme !== 'recording');
  return url;
}

function reason(text: string): string {
  const outcome = parseBrokerUrls(text);
  assert.ok(!outcome.ok, `${text} was accepted`);
  return outcome.reason;
}

const VIRTUAL_HOSTS: readonly (readonly [string, string])[] = [
  ['amqp://h', '/'],
  ['amqp://h/', '/'],
  ['amqp://h//', '/'],
  ['amqp://h/%2F', '/'],
  ['amqp://h/%2f', '/'],
  ['amqp://h/myvh', 'myvh'],
  ['amqp://h//myvh', '/myvh'],
  ['amqp://h/%2Fmyvh', '/myvh'],
  ['amqp://h/a/b', 'a/b'],
  ['amqp://h/caf%C3%A9', 'café'],
  ['amqp://h/100%25', '100%'],
  ['amqp://h/%252F', '%2F'],
  ['amqp://h/a+b', 'a+b'],
  ['amqp://h//?heartbeat=10', '/'],
  ['amqp://h?heartbeat=10', '/'],
];

for (const [text, vhost] of VIRTUAL_HOSTS) {
  test(`${text} means the virtual host ${vhost}`, () => assert.equal(amqp(text).vhost, vhost));
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
  ['amqp://h?ssl_cert_reqs=required', { ...plain, scheme: 'amqps', host: 'h', port: 5671 }],
];

for (const [text, expected] of ADDRESSES) {
  test(`${text} is parsed as kombu does`, () => {
    const url = amqp(text);
    assert.deepEqual({ ...url, ...expected }, url);
  });
}

test('TLS verifies the server unless the address explicitly disables it', () => {
  const none = { caFile: undefined, certFile: undefined, keyFile: undefined };
  assert.deepEqual(amqp('amqps://h').tls, { ...none, verify: true });
  for (const reqs of ['none', 'CERT_NONE']) {
    assert.deepEqual(amqp(`amqps://h?ssl_cert_reqs=${reqs}`).tls, { ...none, verify: false });
  }
  // For a client, Python's ssl.CERT_OPTIONAL means CERT_REQUIRED.
  for (const reqs of ['required', 'CERT_REQUIRED', 'optional', 'CERT_OPTIONAL']) {
    assert.deepEqual(amqp(`amqps://h?ssl_cert_reqs=${reqs}`).tls, { ...none, verify: true });
  }
  assert.deepEqual(amqp('amqps://h?ssl_ca_certs=/a/ca.pem&ssl_certfile=b%20c.pem&ssl_keyfile=/k').tls, {
    caFile: '/a/ca.pem',
    certFile: 'b c.pem',
    keyFile: '/k',
    verify: true,
  });
});

test('broker_use_ssl applies to addresses without ssl_ keys, and sets the TLS port', () => {
  const setting = { caFile: '/ca.pem', certFile: undefined, keyFile: undefined, verify: true };
  const outcome = parseBrokerUrls(
    'amqp://a;amqp://b:1;amqps://c;amqp://d?ssl_cert_reqs=none;amqp://e?heartbeat=5',
    setting,
  );
  assert.ok(outcome.ok);
  const urls = outcome.urls.map((url) => (url.scheme === 'recording' ? [] : [url.scheme, url.port, url.tls]));
  assert.deepEqual(urls, [
    ['amqps', 5671, setting],
    ['amqps', 1, setting],
    ['amqps', 5671, setting],
    ['amqps', 5671, { caFile: undefined, certFile: undefined, keyFile: undefined, verify: false }],
    ['amqps', 5671, setting],
  ]);
  const recording = parseBrokerUrls('recording:a.ndjson', setting);
  assert.deepEqual(recording, parseBrokerUrls('recording:a.ndjson'));
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

const REASONS: readonly (readonly [string, RegExp])[] = [
  ['', /is empty/],
  ['amqp://a;', /^address 2 of 2: .*is empty/],
  ['localhost:5672', /no scheme/],
  ['rabbit', /no scheme/],
  ['redis://:secret@h/0', /^redis:\/\/ is not supported yet/],
  ['rediss://h', /^rediss:\/\/ is not supported yet/],
  ['sentinel://h;sentinel://g', /^address 1 of 2: sentinel:\/\/ is not supported yet/],
  ['sqs://', /^sqs:\/\/ is not supported yet/],
  ['ampq://h', /^ampq:\/\/ is not known/],
  ['amqp://h:0', /port/],
  ['amqp://h:65536', /port/],
  ['amqp://h:5672x', /port/],
  ['amqp://::1', /port|host/],
  ['amqp://[::1', /port|host/],
  ['amqp://[rabbit]', /host/],
  ['amqp://ra%00bbit', /host/],
  ['amqp://h/v#x', /percent-encoded/],
  ['amqp://h?heartbeat=soon', /heartbeat/],
  ['amqp://h?heartbeat=-1', /heartbeat/],
  ['amqp://h?heartbeat', /heartbeat has no value/],
  ['amqp://h?hartbeat=1', /the query key hartbeat is not known/],
  ['amqp://h?1=1', /a query key is not known/],
  ['amqps://h?ssl_cert_reqs=maybe', /ssl_cert_reqs/],
  ['amqps://h?ssl_ca_certs=', /ssl_ca_certs has no value/],
  ['recording:', /no file/],
  ['recording:?speed=1', /no file/],
  ['recording:f?speed=0', /speed/],
  ['recording:f?speed=fast', /speed/],
  ['recording:f?speed=1e400', /speed/],
  ['recording:f?loop=1', /speed/],
  ['recording://f', /path/],
  ['recording:f;amqp://h', /only address/],
];

for (const [text, pattern] of REASONS) {
  test(`'${text}' is refused with a reason`, () => assert.match(reason(text), pattern));
}

test('no label or reason contains a password, however malformed the address is', () => {
  const secrets = [
    'hunter2',
    'hun/ter2',
    'hun#ter2',
    'hun?ter2',
    'hun@ter2',
    '5672/hunter2',
    'h%75nter2',
    ':hunter2',
  ];
  for (const secret of secrets) {
    for (const start of [
      'amqp://u:',
      'amqps://u:',
      'redis://:',
      'u:',
      'amqp:/u:',
      'amqp://a;amqp://u:',
      '://u:',
    ]) {
      for (const end of ['@h', '@h:x', '@h//', '@h/v?heartbeat=x', '@h/v?what=1', '@h/v#']) {
        const text = `${start}${secret}${end}`;
        const outcome = parseBrokerUrls(text);
        const shown = outcome.ok ? outcome.urls.map((url) => url.label).join() : outcome.reason;
        assert.doesNotMatch(shown, /ter2/, `${text} gives: ${shown}`);
      }
    }
  }
  // Without a host after it, an intended password is parsed as a port.
  assert.doesNotMatch(reason('amqp://u:hunter2'), /hunter2/);
});

test('any text gives an outcome, and a label has no control characters', () => {
  const pieces = fc.constantFrom(
    'amqp://',
    'amqps://',
    '@',
    ':',
    '/',
    '//',
    '?',
    '&',
    '=',
    '%',
    '[',
    ']',
    ';',
    '#',
  );
  const text = fc
    .array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 5 })))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(
      fc.oneof(
        text,
        text.map((rest) => `amqp://${rest}`),
      ),
      (given) => {
        const outcome = parseBrokerUrls(given);
        if (!outcome.ok) assert.ok(outcome.reason.length > 0);
        else
          for (const url of outcome.urls)
            if (url.scheme !== 'recording') assert.doesNotMatch(url.label, /\p{Cc}/u);
      },
    ),
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
    }),
  );
});
