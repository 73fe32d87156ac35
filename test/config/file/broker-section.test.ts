/** Broker settings that only a file has. kombu’s behaviour: kombu/connection.py, kombu/transport/pyamqp.py. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerSettings } from '../../../src/broker/broker.ts';
import type { AmqpUrl } from '../../../src/broker/broker-url.ts';
import {
  WITHOUT_EFFECT,
  WITHOUT_EFFECT_ON_AMQP,
  WITHOUT_EFFECT_ON_SENTINELS,
} from '../../../src/config/file/transport-options.ts';
import { servicePath, serviceRows } from '../../../src/config/options.ts';
import { configOf, load, mistakesOf, withCelery, withService } from '../configuration-files.ts';
import { optionLine } from '../option-brokers.ts';
import { FILES, OPTION_CASES } from '../option-cases.ts';

const withBroker = (url: string, more = '') =>
  withCelery(`  services:\n    shop:\n      broker_url: ${url}\n${more}`);

function urlsOf(text: string): readonly AmqpUrl[] {
  return configOf(text).services[0].broker.urls.flatMap((url) => ('vhost' in url ? [url] : []));
}

function brokerOf(url: string, more: string): BrokerSettings {
  return configOf(withBroker(url, more)).services[0].broker;
}

const DEFAULT_TLS = {
  caFile: undefined,
  certFile: undefined,
  keyFile: undefined,
  verify: true,
  checkHost: true,
};

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

test('broker_use_ssl enables TLS on the default port of the scheme', () => {
  const urls = urlsOf(withBroker('amqp://a;amqp://b:1;amqps://c', '      broker_use_ssl: true'));
  assert.deepEqual(
    urls.map(({ scheme, port }) => [scheme, port]),
    [5671, 1, 5671].map((port) => ['amqps', port]),
  );
});

const { certificate, key } = FILES;
const WHOLE = { caFile: certificate, certFile: certificate, keyFile: key, verify: false };
const WHOLE_OF_REDIS = `{ ssl_ca_certs: ${certificate}, ssl_certfile: ${certificate}, ssl_keyfile: ${key}, ssl_cert_reqs: none, ssl_check_hostname: false }`;
const OWN = 'amqp://a?ssl_cert_reqs=none;amqps://b?ssl_ca_certs=/x';

/** What differs from the defaults of TLS at each address; undefined where there is none. */
const USES: readonly (readonly [urls: string, setting: string, ...tls: (object | undefined)[]])[] = [
  ['amqp://a;amqps://b', 'true', {}, {}],
  ['amqp://a;amqps://b', 'false', undefined, {}],
  ['amqp://a;amqps://b', '{}', undefined, {}],
  [
    'amqp://a',
    `{ ca_certs: ${certificate}, certfile: ${certificate}, keyfile: ${key}, cert_reqs: none }`,
    WHOLE,
  ],
  ['amqp://a', '{ cert_reqs: required }', {}],
  ['amqp://a', '{ cert_reqs: optional }', {}],
  ['amqp://a', '{ cert_reqs: CERT_REQUIRED }', {}],
  ['amqp://a', '{ cert_reqs: CERT_NONE }', { verify: false }],
  ['amqp://a', '{ ca_certs: null, cert_reqs: null }', {}],
  ['amqp://a', '{ server_hostname: rabbit.internal }', { serverName: 'rabbit.internal' }],
  ['amqp://a', '{ ssl_check_hostname: false }', { checkHost: false }],
  // An address with keys of its own uses no others.
  [
    `${OWN};amqp://c`,
    `{ ca_certs: ${certificate} }`,
    { verify: false },
    { caFile: '/x' },
    { caFile: certificate },
  ],
  [OWN, 'true', { verify: false }, { caFile: '/x' }],
  [OWN, 'false', { verify: false }, { caFile: '/x' }],
  [OWN, '{}', { verify: false }, { caFile: '/x' }],
  ['redis://a', WHOLE_OF_REDIS, { ...WHOLE, checkHost: false }],
  ['rediss://a:1', WHOLE_OF_REDIS, { ...WHOLE, checkHost: false }],
  ['redis://a', '{ ssl_cert_reqs: CERT_REQUIRED }', {}],
  ['redis://a', '{ ssl_cert_reqs: null }', { verify: false }],
  ['rediss://a', 'true', {}],
  ['redis://a?ssl_cert_reqs=required', 'true', {}],
  ['redis://a', 'false', undefined],
  ['redis://a', '{}', undefined],
];

test('broker_use_ssl is read as Celery reads it, for each address', () => {
  for (const [urls, setting, ...expected] of USES) {
    const found = brokerOf(urls, `      broker_use_ssl: ${setting}`).urls;
    assert.deepEqual(
      found.map((url) => 'tls' in url && url.tls),
      expected.map((tls) => tls && { ...DEFAULT_TLS, ...tls }),
      `${urls} ${setting}`,
    );
  }
  const master = '      broker_transport_options: { master_name: main }';
  const [sentinels] = brokerOf(
    'sentinel://a;sentinel://b',
    `      broker_use_ssl: ${WHOLE_OF_REDIS}\n${master}`,
  ).urls;
  assert.deepEqual('tls' in sentinels && sentinels.tls, { ...DEFAULT_TLS, ...WHOLE, checkHost: false });
});

test('broker settings of a recording are refused by their paths', () => {
  const nothing = 'expected no broker option with a recording: remove it, or listen to a broker';
  assert.deepEqual(mistakesOf(withBroker('recording:x', '      broker_heartbeat: 30')), [
    `celery.services.shop.broker_heartbeat (f:7) is "30": ${nothing}`,
  ]);
  for (const setting of ['true', 'false', '{}', `{ ca_certs: ${FILES.certificate} }`]) {
    for (const url of ['recording:x', '[ "recording:x?speed=max" ]']) {
      assert.deepEqual(mistakesOf(withBroker(url, `      broker_use_ssl: ${setting}`)), [
        `celery.services.shop.broker_use_ssl (f:7): ${nothing}`,
      ]);
    }
  }
});

test('an option needs a broker that it applies to, wherever it is in the list of addresses', () => {
  const addresses = {
    any: 'amqp://a',
    amqp: 'amqp://a',
    redis: 'redis://a',
    sentinel: 'sentinel://a',
  } as const;
  const reasons = {
    any: '',
    amqp: 'no AMQP option: broker_url has no AMQP address',
    redis: 'no Redis option: broker_url has no Redis address',
    sentinel: 'no option of sentinels: broker_url has no sentinel:// address',
  } as const;
  const fits = { any: 'any', amqp: 'amqp', redis: 'redis sentinel', sentinel: 'sentinel' } as const;
  for (const [key, { transport, format, within }] of serviceRows()) {
    if (transport === undefined || transport === 'any' || key === 'config') continue;
    const [[text] = ['x']] = OPTION_CASES[key].good;
    const line = `      ${optionLine(key, JSON.stringify(text)).replace('master_name: main, ', '')}`;
    for (const other of ['amqp', 'redis', 'sentinel'] as const) {
      if (fits[transport].includes(other)) continue;
      if (within !== undefined) {
        // The map of an application that also runs with another broker is copied.
        const copied =
          other === 'sentinel' ? line.replace('options: { ', 'options: { master_name: main, ') : line;
        const loaded = load(withBroker(addresses[other], copied));
        assert.ok(loaded.ok, JSON.stringify(loaded));
        const [, because] = reasons[transport].split(': ');
        assert.equal(loaded.warnings.length, 1);
        assert.match(
          loaded.warnings[0] ?? '',
          new RegExp(
            `^celery\\.services\\.shop\\.${servicePath(key).join('\\.')} \\(.*:7\\) has no effect: ${because}$`,
            'u',
          ),
        );
        continue;
      }
      const mistakes = mistakesOf(withBroker(addresses[other], line)).filter(
        (mistake) => !mistake.includes('because broker_url has sentinel'),
      );
      assert.deepEqual(mistakes, [
        `celery.services.shop.${servicePath(key).join('.')} (f:7) is ${format.show(text)}: expected ${reasons[transport]}`,
      ]);
    }
    const own = `${addresses.amqp};${addresses[transport]}`;
    const master = transport === 'sentinel' ? optionLine(key, JSON.stringify(text)) : line.trim();
    configOf(withBroker(own, `      ${master}`));
  }
});

test('an invalid broker_use_ssl is a mistake by its path', () => {
  const at = 'celery.services.shop.broker_use_ssl';
  const cases: [setting: string, mistake: string][] = [
    [
      'yes please',
      `${at} (f:7): expected a map of ca_certs, certfile, keyfile, cert_reqs, server_hostname, ssl_check_hostname; or true or false`,
    ],
    [
      '{ nothing: x }',
      `${at}.nothing (f:7): expected a known key (known keys: ca_certs, certfile, keyfile, cert_reqs, server_hostname, ssl_check_hostname)`,
    ],
    [
      '{ ssl_keyfile: x }',
      `${at}.ssl_keyfile (f:7): expected no such key: with AMQP the keys have no ssl_ before them`,
    ],
    ['{ cert_reqs: maybe }', `${at}.cert_reqs (f:7) is "maybe": expected one of none, `],
    [
      `{ ca_certs: ${FILES.missing} }`,
      `${at}.ca_certs (f:7) is "${FILES.missing}": expected the path of a PEM file with a certificate (this one`,
    ],
    [
      `{ keyfile: ${FILES.key} }`,
      `${at}.certfile (f:7): expected a value: the path of a PEM file with a certificate`,
    ],
    [
      `{ certfile: ${FILES.certificate} }`,
      `${at}.keyfile (f:7): expected a value: the path of a PEM file with a private key`,
    ],
  ];
  for (const [setting, mistake] of cases) {
    const mistakes = mistakesOf(withService(`      broker_use_ssl: ${setting}`));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.ok(mistakes[0]?.startsWith(mistake), mistakes[0]);
  }
});

test('the transport options that guides for RabbitMQ show have no effect, and others are refused', () => {
  const keys = [...Object.keys(WITHOUT_EFFECT), ...Object.keys(WITHOUT_EFFECT_ON_AMQP)];
  const lines = keys.map((key) => `${key}: { a: 1 }`).join(', ');
  assert.deepEqual(
    configOf(withService(`      broker_transport_options: { ${lines} }`)),
    configOf(withService('      broker_transport_options: {}')),
  );
  assert.match(
    mistakesOf(withService('      broker_transport_options: { confirm_publsh: true }')).join(),
    /broker_transport_options\.confirm_publsh \(f:7\): expected a known key \(did you mean confirm_publish\?\)/u,
  );
});

test('null and 0 mean what they do in kombu', () => {
  const nothing =
    'global_keyprefix: "", client_name: null, socket_timeout: null, health_check_interval: 0, priority_steps: null, sentinel_kwargs: null';
  const broker = brokerOf('redis://a', `      broker_transport_options: { ${nothing} }`);
  assert.deepEqual(broker, brokerOf('redis://a', ''));
  for (const no of ['null', '0', 'false']) {
    const switches = `fanout_prefix: ${no}, fanout_patterns: ${no}, socket_keepalive: ${no}`;
    const { redis } = brokerOf('redis://a', `      broker_transport_options: { ${switches} }`);
    assert.deepEqual(
      [redis.fanoutPrefix, redis.fanoutPatterns, redis.socketKeepalive],
      ['', false, false],
      no,
    );
  }
});

test('broker_use_ssl: true is refused where Celery ignores it', () => {
  const use = '      broker_use_ssl: true';
  const master = '\n      broker_transport_options: { master_name: main }';
  for (const url of [
    'redis://a',
    'rediss://a;redis://b',
    'amqp://a;redis://b',
    'sentinel://a',
    'redis+socket:///a',
  ]) {
    const [mistake, ...more] = mistakesOf(withBroker(url, use + (url.includes('sentinel') ? master : '')));
    assert.deepEqual(more, []);
    assert.match(
      mistake ?? '',
      /broker_use_ssl \(f:7\): expected rediss:\/\/ or ssl_ keys in broker_url, or a map .*: with Redis, Celery ignores true$/,
    );
  }
});

test('an invalid broker_use_ssl for Redis is a mistake by its path', () => {
  const at = 'celery.services.shop.broker_use_ssl';
  const cases: [url: string, setting: string, mistake: string][] = [
    [
      'redis://a',
      '{ keyfile: x }',
      `${at}.keyfile (f:7): expected no such key: with Redis the keys have ssl_`,
    ],
    ['redis://a', '{ ssl_ciphers: x }', `${at}.ssl_ciphers (f:7): expected no such key: it is not supported`],
    [
      'redis://a',
      '{ ssl_check_hostname: 1 }',
      `${at}.ssl_check_hostname (f:7) is "1": expected true or false`,
    ],
    [
      'redis://a?ssl_cert_reqs=none',
      '{ ssl_cert_reqs: none }',
      `${at} (f:7): expected no map: every address of broker_url has ssl_ keys of its own`,
    ],
    [
      'redis+socket:///a',
      '{ ssl_cert_reqs: none }',
      `${at} (f:7): expected no map: over a Unix socket there is no TLS`,
    ],
    [
      'amqp://a;redis://b',
      '{ ssl_cert_reqs: none }',
      `${at} (f:7): expected no map with both AMQP and Redis in broker_url`,
    ],
  ];
  for (const [url, setting, mistake] of cases) {
    const mistakes = mistakesOf(withBroker(url, `      broker_use_ssl: ${setting}`));
    assert.equal(mistakes.length, 1, mistakes.join('\n'));
    assert.ok(mistakes[0]?.startsWith(mistake), mistakes[0]);
  }
});

test('with an invalid address, broker_use_ssl is read by the names that it has', () => {
  for (const [setting, wrong] of [
    ['{ ssl_keyfil: x, ssl_cert_reqs: none }', 'ssl_keyfil'],
    ['{ keyfil: x }', 'keyfil'],
  ] as const) {
    const mistakes = mistakesOf(withBroker('nothing', `      broker_use_ssl: ${setting}`));
    assert.equal(mistakes.length, 2);
    assert.match(mistakes[1] ?? '', new RegExp(`\\.${wrong} .*did you mean ${wrong}e`, 'u'));
  }
});

test('the transport options of sentinels are keys of a map within that of Redis, and none is beside it', () => {
  const kwargs = `{ username: watcher, password: hunter2, ssl: true, ssl_cert_reqs: none, ssl_ca_certs: ${certificate} }`;
  const options = `{ master_name: main, sentinel_kwargs: ${kwargs} }`;
  const { redis } = brokerOf('sentinel://a', `      broker_transport_options: ${options}`);
  assert.deepEqual(redis.sentinel, {
    username: 'watcher',
    password: 'hunter2',
    tls: { ...DEFAULT_TLS, verify: false, caFile: certificate },
  });
  // Celery has no such settings there.
  assert.deepEqual(mistakesOf(withBroker('redis://a', '      fanout_patterns: true')), [
    'celery.services.shop.fanout_patterns (f:7): expected a known key',
  ]);
});

test('the names of queues and the priorities may be lists, as in Celery', () => {
  const service = (options: string) =>
    configOf(
      withBroker(
        'redis://a',
        `      queues: [mail, "a b"]
      task_default_queue: shop
      broker_transport_options: { sep: ":", visibility_timeout: 60, ${options} }`,
      ),
    ).services[0];
  const { polls } = service('priority_steps: [0, 5, "9"]');
  assert.deepEqual(polls.queues, ['mail', 'a b']);
  assert.deepEqual(polls.redis.prioritySteps, [0, 5, 9]);
  assert.deepEqual([polls.redis.separator, polls.redis.visibilityTimeoutMs], [':', 60_000]);
  assert.deepEqual(service('priority_steps: "0,5"').polls.redis.prioritySteps, [0, 5]);
  const at = 'celery.services.shop.broker_transport_options.priority_steps';
  for (const [steps, place] of [
    ['[5, 0]', ''],
    ['[0, true]', '[1]'],
    ['{ a: 1 }', ''],
  ] as const) {
    const mistakes = mistakesOf(
      withBroker('redis://a', `      broker_transport_options: { priority_steps: ${steps} }`),
    );
    assert.equal(mistakes.length, 1, mistakes.join());
    assert.ok(mistakes[0]?.startsWith(`${at}${place} (f:7)`), mistakes[0]);
  }
});

test('arguments for the clients of sentinels are accepted, and keys of sentinels without one', () => {
  const names = Object.keys(WITHOUT_EFFECT_ON_SENTINELS).map((key) => `${key}: 0.1`);
  const kwargs = `sentinel_kwargs: { password: p, ${names.join(', ')} }`;
  const { redis } = brokerOf('sentinel://a', `      broker_transport_options: { master_name: m, ${kwargs} }`);
  assert.equal(redis.sentinel.password, 'p');
  configOf(withBroker('redis://a', '      broker_transport_options: { sentinel_kwargs: { ssl: true } }'));
});

test('null is what None is to Celery, and cert_reqs may be the numbers of Python', () => {
  const none = [
    'use_ssl',
    'heartbeat',
    'login_method',
    'failover_strategy',
    'connection_timeout',
    'transport_options',
  ];
  const lines = none.map((key) => `      broker_${key}: null`).join('\n');
  const without = brokerOf('amqp://a', '');
  assert.deepEqual(brokerOf('amqp://a', lines), { ...without, amqp: { ...without.amqp, heartbeatS: 0 } });
  for (const [url, key] of [
    ['amqp://a', 'cert_reqs'],
    ['redis://a', 'ssl_cert_reqs'],
  ] as const) {
    const [verify] = [0, 1, 2].map((number) => {
      const { urls } = brokerOf(url, `      broker_use_ssl: { ${key}: ${number} }`);
      return 'tls' in urls[0] ? urls[0].tls?.verify : undefined;
    });
    assert.equal(verify, false);
    assert.deepEqual(mistakesOf(withBroker(url, `      broker_use_ssl: { ${key}: 3 }`)).length, 1);
  }
  assert.equal(brokerOf('amqp://a', '      broker_heartbeat: 120.0').amqp.heartbeatS, 120);
});

test('unknown transport options are refused by their paths', () => {
  const at = 'celery.services.shop.broker_transport_options';
  const cases: [url: string, options: string, mistakes: readonly string[]][] = [
    [
      'redis://a',
      '{ visibility_timeot: 5, nothing: 5 }',
      [
        `${at}.visibility_timeot (f:7): expected a known key (did you mean visibility_timeout?)`,
        `${at}.nothing (f:7): expected a known key`,
      ],
    ],
    ['redis://a', '5', [`${at} (f:7): expected a map of transport options`]],
    [
      'redis://a',
      '{ fanout_prefix: 5 }',
      [
        `${at}.fanout_prefix (f:7) is "5": expected true, false, or text on one line, at most 200 bytes, in quotes`,
      ],
    ],
    [
      'redis://a',
      '{ global_keyprefix: false }',
      [`${at}.global_keyprefix (f:7) is "false": expected text on one line, at most 200 bytes, in quotes`],
    ],
    [
      'sentinel://a',
      '{ master_name: m, sentinel_kwargs: { password: 5 } }',
      [`${at}.sentinel_kwargs.password (f:7) is "***": expected a string, in quotes`],
    ],
    [
      'sentinel://a',
      '{ master_name: m, sentinel_kwargs: { ssl_cert_reqs: none } }',
      [
        `${at}.sentinel_kwargs.ssl_cert_reqs (f:7): expected ssl: true beside it, since without it there is no TLS`,
      ],
    ],
    [
      'amqp://a',
      '{ heartbeat: 5, login_method: PLAIN }',
      [
        `${at}.heartbeat (f:7): expected no such key: set broker_heartbeat`,
        `${at}.login_method (f:7): expected no such key: set broker_login_method`,
      ],
    ],
    [
      'recording:x',
      '{ unacked_mutex_key: 5, sentinel_kwargs: { ssl: true } }',
      ['unacked_mutex_key', 'sentinel_kwargs.ssl'].map(
        (key) =>
          `${at}.${key} (f:7): expected no broker option with a recording: remove it, or listen to a broker`,
      ),
    ],
  ];
  for (const [url, options, mistakes] of cases) {
    assert.deepEqual(mistakesOf(withBroker(url, `      broker_transport_options: ${options}`)), mistakes);
  }
});

test('a sentinel address requires the name of the master', () => {
  const missing =
    'celery.services.shop.broker_transport_options.master_name (f:5): expected a value: text on one line, at most 255 bytes, because broker_url has sentinel://';
  assert.deepEqual(mistakesOf(withBroker('sentinel://a;sentinel://b')), [missing]);
  assert.deepEqual(mistakesOf(withBroker('amqp://a;sentinel://b')), [missing]);
  configOf(withBroker('redis://a'));
});
