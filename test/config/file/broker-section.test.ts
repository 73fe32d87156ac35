/** Broker settings that only a file has. kombu’s behaviour: kombu/connection.py, kombu/transport/pyamqp.py. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AmqpUrl } from '../../../src/broker/broker-url.ts';
import { serviceRows } from '../../../src/config/options.ts';
import { configOf, mistakesOf, withCelery, withService } from '../configuration-files.ts';
import { FILES } from '../option-cases.ts';

const withBroker = (url: string, more = '') =>
  withCelery(`  services:\n    shop:\n      broker_url: ${url}\n${more}`);

function urlsOf(text: string): readonly AmqpUrl[] {
  return configOf(text).services[0].broker.urls.flatMap((url) => (url.scheme === 'recording' ? [] : [url]));
}

const DEFAULT_TLS = { caFile: undefined, certFile: undefined, keyFile: undefined, verify: true };

test('several addresses are a list, or a string with ; between them', () => {
  for (const url of ['amqp://a;amqps://b', '[amqp://a, amqps://b]']) {
    assert.deepEqual(
      urlsOf(withBroker(url)).map(({ label }) => label),
      ['amqp://guest:***@a:5672//', 'amqps://guest:***@b:5671//'],
    );
  }
});

test('a list with one malformed address shows no password', () => {
  assert.deepEqual(mistakesOf(withBroker('[amqp://me:hunter2@a, amqp://me:hunter2@b:99999]')), [
    'celery.services.shop.broker_url (f:6) is "amqp://***@b:99999": expected a broker address ' +
      '(address 2 of 2: the port must be a whole number from 1 to 65535)',
  ]);
  const [mistake, ...more] = mistakesOf(withBroker('[amqp://a, { x: hunter2 }, 5]'));
  assert.match(mistake ?? '', /^celery\.services\.shop\.broker_url\[1\] \(f:6\): expected a broker address/);
  assert.match(more.join('\n'), /^celery\.services\.shop\.broker_url\[2\] \(f:6\) is "\*\*\*": expected/);
  assert.match(
    mistakesOf(withBroker('[]')).join('\n'),
    /^celery\.services\.shop\.broker_url \(f:6\): expected a broker address/,
  );
});

test('broker_use_ssl enables TLS on its default port, with verification', () => {
  const urls = urlsOf(withBroker('amqp://a;amqp://b:1;amqps://c', '      broker_use_ssl: true'));
  assert.deepEqual(
    urls.map(({ scheme, port, tls }) => ({ scheme, port, tls })),
    [5671, 1, 5671].map((port) => ({ scheme: 'amqps', port, tls: DEFAULT_TLS })),
  );
});

test('broker_use_ssl accepts the arguments of Python’s ssl.wrap_socket', () => {
  const [url] = urlsOf(
    withBroker(
      'amqp://a',
      `      broker_use_ssl: { ca_certs: ${FILES.certificate}, certfile: ${FILES.certificate}, keyfile: ${FILES.key}, cert_reqs: none }`,
    ),
  );
  assert.deepEqual(url?.tls, {
    caFile: FILES.certificate,
    certFile: FILES.certificate,
    keyFile: FILES.key,
    verify: false,
  });
  for (const [reqs, verify] of [
    ['required', true],
    ['optional', true],
    ['CERT_REQUIRED', true],
    ['CERT_NONE', false],
  ] as const) {
    assert.equal(
      urlsOf(withBroker('amqp://a', `      broker_use_ssl: { cert_reqs: ${reqs} }`))[0]?.tls?.verify,
      verify,
    );
  }
});

test('false and an empty map mean no TLS, except for an amqps address', () => {
  for (const setting of ['false', '{}']) {
    assert.deepEqual(
      urlsOf(withBroker('amqp://a;amqps://b', `      broker_use_ssl: ${setting}`)).map(({ tls }) => tls),
      [undefined, DEFAULT_TLS],
    );
  }
});

test('an address with ssl_ keys uses its own settings only', () => {
  const [own, other] = urlsOf(
    withBroker(
      'amqp://a?ssl_cert_reqs=none;amqp://b',
      `      broker_use_ssl: { ca_certs: ${FILES.certificate} }`,
    ),
  );
  assert.deepEqual(own?.tls, { ...DEFAULT_TLS, verify: false });
  assert.deepEqual(other?.tls, { ...DEFAULT_TLS, caFile: FILES.certificate });
});

test('a broker_use_ssl map that no address uses is a mistake, and true is not', () => {
  const own = 'amqp://a?ssl_cert_reqs=none;amqps://b?ssl_ca_certs=/x';
  const map = `      broker_use_ssl: { ca_certs: ${FILES.certificate} }`;
  assert.deepEqual(mistakesOf(withBroker(own, map)), [
    'celery.services.shop.broker_use_ssl (f:7): expected no map: every address of broker_url has ssl_ keys of its own, which take precedence',
  ]);
  assert.equal(urlsOf(withBroker(`${own};amqps://c`, map)).at(-1)?.tls?.caFile, FILES.certificate);
  for (const setting of ['true', 'false', '{}']) {
    assert.deepEqual(
      urlsOf(withBroker(own, `      broker_use_ssl: ${setting}`)).map(({ tls }) => tls),
      [
        { ...DEFAULT_TLS, verify: false },
        { ...DEFAULT_TLS, caFile: '/x' },
      ],
    );
  }
});

test('broker settings of a recording are refused by their paths', () => {
  const nothing = 'expected no broker option with a recording: remove it, or listen to a broker';
  const rows = serviceRows().filter(([, { transport }]) => transport !== undefined);
  assert.deepEqual(
    rows.map(([key]) => key),
    [
      ...['broker_failover_strategy', 'broker_heartbeat', 'broker_connection_timeout', 'event_exchange'],
      ...['event_queue_prefix', 'event_queue_bytes_max', 'control_exchange', 'task_default_queue'],
    ],
  );
  // Also where it is the default: it is given, and it has no effect.
  for (const [key, { default: byDefault = '' }] of rows) {
    const line = `      ${key}: ${byDefault}`;
    assert.deepEqual(mistakesOf(withBroker('recording:x', line)), [
      `celery.services.shop.${key} (f:7) is "${byDefault}": ${nothing}`,
    ]);
    configOf(withBroker('amqp://a', line));
  }
  for (const setting of ['true', 'false', '{}', `{ ca_certs: ${FILES.certificate} }`]) {
    for (const url of ['recording:x', '[ "recording:x?speed=max" ]']) {
      assert.deepEqual(mistakesOf(withBroker(url, `      broker_use_ssl: ${setting}`)), [
        `celery.services.shop.broker_use_ssl (f:7): ${nothing}`,
      ]);
    }
  }
});

test('cluster settings apply to a recording too', () => {
  const cluster = serviceRows().filter(([, { scope }]) => scope === 'cluster');
  const lines = cluster.map(([key, { default: byDefault }]) => `      ${key}: ${byDefault}`).join('\n');
  configOf(withBroker('recording:x', lines));
});

test('an invalid broker_use_ssl is a mistake by its path', () => {
  const at = 'celery.services.shop.broker_use_ssl';
  const cases: [setting: string, mistake: string][] = [
    ['yes please', `${at} (f:7): expected a map of ca_certs, certfile, keyfile, cert_reqs; or true or false`],
    ['', `${at} (f:7): expected true, false or a map of ca_certs, certfile, keyfile, cert_reqs`],
    [
      '{ ssl_keyfile: x }',
      `${at}.ssl_keyfile (f:7): expected a known key (known keys: ca_certs, certfile, keyfile, cert_reqs)`,
    ],
    ['{ key_file: x }', `${at}.key_file (f:7): expected a known key (did you mean keyfile?)`],
    [
      '{ server_hostname: x }',
      `${at}.server_hostname (f:7): expected no such key: it is not supported; the certificate must match`,
    ],
    ['{ cert_reqs: maybe }', `${at}.cert_reqs (f:7) is "maybe": expected one of none, `],
    [
      `{ ca_certs: ${FILES.missing} }`,
      `${at}.ca_certs (f:7) is "${FILES.missing}": expected the path of a PEM file with a certificate (this one`,
    ],
    [
      `{ certfile: ${FILES.certificate} }`,
      `${at}.keyfile (f:7): expected a value: the path of a PEM file with a private key`,
    ],
    [
      `{ keyfile: ${FILES.key} }`,
      `${at}.certfile (f:7): expected a value: the path of a PEM file with a certificate`,
    ],
  ];
  for (const [setting, mistake] of cases) {
    const mistakes = mistakesOf(withService(`      broker_use_ssl: ${setting}`));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.ok(mistakes[0]?.startsWith(mistake), mistakes[0]);
  }
});

test('every broker_transport_options key is refused by its path, since AMQP uses none', () => {
  assert.deepEqual(
    mistakesOf(withService('      broker_transport_options: { confirm_publish: true, max_retries: 3 }')),
    [
      'celery.services.shop.broker_transport_options.confirm_publish (f:7): expected no such key: AMQP transport options are not supported',
      'celery.services.shop.broker_transport_options.max_retries (f:7): expected no such key: AMQP transport options are not supported',
    ],
  );
  configOf(withService('      broker_transport_options: {}'));
});
