import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReply } from '../../src/celery/control-reply.ts';
import { readSettings } from '../../src/celery/worker-settings.ts';
import { message } from './wire.ts';

/** As Celery has them by default. */
const DEFAULTS = {
  ...{ broker_transport_options: {}, broker_use_ssl: false, broker_failover_strategy: null },
  ...{ broker_login_method: null, broker_heartbeat: 120, broker_connection_timeout: 4 },
};

function read(settings: unknown, defaults: object = DEFAULTS) {
  const all =
    typeof settings === 'object' && settings !== null && !Array.isArray(settings)
      ? { ...defaults, ...settings }
      : settings;
  const reply = readReply(message(JSON.stringify({ 'w1@a': all })), 0, readSettings);
  return reply.kind === 'answer' ? reply.content : reply.kind;
}

const options = (value: unknown) => ({ broker_transport_options: { fine: 1, odd: value } });

/** As Celery prints them in its reply to `conf`. */
for (const printed of [
  'range(0, 10)',
  "PosixPath('/etc/ssl/ca.pem')",
  '<function failover at 0x7f3a>',
  '<celery.X object at 0x7f3a>',
  "b'secret'",
  "{'a', 'b'}",
  '{1, 2}',
  "{PosixPath('/x')}",
  'frozenset({1})',
  '(1+2j)',
  '0:05:00',
  '1 day, 0:00:00',
  'datetime.timedelta(seconds=3)',
]) {
  test(`JSON cannot encode what is printed as ${printed}`, () => {
    assert.deepEqual(read(options(printed)), {
      unencodable: 'broker_transport_options.odd',
      isRecent: false,
    });
    assert.deepEqual(read(options({ inner: [1, [printed]] })), {
      unencodable: 'broker_transport_options.odd.inner',
      isRecent: false,
    });
  });
}

for (const plain of [
  ...[null, true, 3, 2.5, '', ':', '\u0006\u0016', 'priority', [0, 3, 6, 9], { a: { b: [null] } }],
  ...['{q}:', '{celery}', '{q1}', 'mymaster', '/etc/ssl/ca.pem', 'redis://:***@host:6379/0', 'a (b)'],
]) {
  test(`JSON can encode ${JSON.stringify(plain)}`, () => {
    assert.deepEqual(read(options(plain)), { unencodable: undefined, isRecent: false });
  });
}

test('other settings are not in stats, and are not looked at', () => {
  const settings = { worker_pool: '<object>', beat_schedule: { nightly: { schedule: '<crontab>' } } };
  assert.deepEqual(read({ ...settings, broker_channel_error_retry: false }), {
    unencodable: undefined,
    isRecent: true,
  });
});

for (const key of ['broker_use_ssl', 'broker_failover_strategy', 'broker_login_method', 'broker_heartbeat']) {
  test(`${key} is looked at`, () => {
    assert.deepEqual(read({ [key]: '<object>' }), { unencodable: key, isRecent: false });
  });
}

test('options that are nested without end are not taken as encodable, and anything but a map is unexpected', () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 40; depth += 1) deep = { deep };
  const found = read({ broker_transport_options: deep });
  assert.ok(typeof found === 'object');
  assert.match(found.unencodable ?? '', /^broker_transport_options(?:\.deep)+$/u);
  for (const value of [null, 'no', 7, [1]]) assert.equal(read(value), 'unexpected');
});

test('what Celery hides is only taken as encodable where it can only be a text', () => {
  const hidden = '********';
  for (const [settings, unencodable] of [
    [
      { broker_transport_options: { global_keyprefix: hidden, sentinel_kwargs: { password: hidden } } },
      undefined,
    ],
    [{ broker_use_ssl: { ssl_keyfile: hidden, ssl_certfile: '/c.pem' } }, undefined],
    [{ broker_use_ssl: { keyfile: hidden, certfile: "PosixPath('/c.pem')" } }, 'broker_use_ssl.certfile'],
    [{ broker_use_ssl: { ssl_keyfile: hidden } }, 'broker_use_ssl.ssl_keyfile'],
    [
      { broker_transport_options: { credential_provider_token: hidden } },
      'broker_transport_options.credential_provider_token',
    ],
  ] as const)
    assert.deepEqual(read(settings), { unencodable, isRecent: false });
});

test('a reply without a setting that all have proves nothing', () => {
  assert.deepEqual(read({}, {}), { unencodable: 'broker_transport_options', isRecent: false });
});
