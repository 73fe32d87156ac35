/** Celery’s own variables: maps as JSON, and those that are about something else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OLD_NAMES, UNREAD } from '../../src/config/celery-variables.ts';
import { loadConfig, loadRecordConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import { sources } from './sources.ts';

const load = (env: Readonly<Record<string, string>>) =>
  loadConfig({ ...sources('run', { env: { CELERY_BROKER_URL: 'redis://h', ...env } }), refuseUnknown: true });
const mistakesOf = (env: Readonly<Record<string, string>>): readonly string[] => {
  const loaded = load(env);
  return loaded.ok ? [] : loaded.mistakes.map(describeMistake);
};

test('transport options as JSON are those of a file, and a variable of their own wins', () => {
  const json = JSON.stringify({
    visibility_timeout: 43200,
    global_keyprefix: 'shop:',
    priority_steps: [0, 5],
    polling_interval: 10,
  });
  const loaded = load({ CELERY_BROKER_TRANSPORT_OPTIONS: json, CELERY_GLOBAL_KEYPREFIX: 'own:' });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const [{ broker, polls }] = loaded.config.services;
  assert.equal(broker.redis.globalKeyprefix, 'own:');
  assert.equal(polls.redis.visibilityTimeoutMs, 43_200_000);
  assert.deepEqual(polls.redis.prioritySteps, [0, 5]);
});

test('the maps are read for a recording session, too', () => {
  const env = {
    CELERY_BROKER_URL: 'redis://h',
    CELERY_BROKER_USE_SSL: '{"ssl_cert_reqs": "none"}',
    CELERY_BROKER_TRANSPORT_OPTIONS: '{"global_keyprefix": "shop:"}',
  };
  const loaded = loadRecordConfig({ argv: ['--out', '/nowhere/x'], env });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const [url] = loaded.config.broker.urls;
  assert.equal('tls' in url && url.tls?.verify, false);
  assert.equal(loaded.config.broker.redis.globalKeyprefix, 'shop:');
});

test('broker_use_ssl as JSON or as Python’s True', () => {
  for (const [env, verify] of [
    [{ CELERY_BROKER_URL: 'amqp://h', CELERY_BROKER_USE_SSL: 'True' }, true],
    [{ CELERY_BROKER_URL: 'amqp://h', CELERY_BROKER_USE_SSL: '{"cert_reqs": "CERT_NONE"}' }, false],
    [{ CELERY_BROKER_USE_SSL: '{"ssl_cert_reqs": "required"}' }, true],
    [{ CELERY_BROKER_USE_SSL: '{"ssl_cert_reqs": 0}' }, false],
    [{ CELERY_BROKER_URL: 'amqp://h', CELERY_BROKER_USE_SSL: 'None' }, undefined],
    [{ CELERY_BROKER_URL: 'amqp://h', CELERY_BROKER_USE_SSL: 'null' }, undefined],
  ] as const) {
    const loaded = load(env);
    assert.ok(loaded.ok, JSON.stringify(loaded));
    const [url] = loaded.config.services[0].broker.urls;
    assert.equal('tls' in url && url.tls?.verify, verify);
  }
  const off = load({ CELERY_BROKER_USE_SSL: 'false' });
  assert.ok(off.ok && off.config.services[0].broker.urls[0].label.startsWith('redis:'));
});

test('what is no JSON, or has an unknown key, is a mistake that names the variable and shows nothing', () => {
  assert.deepEqual(mistakesOf({ CELERY_BROKER_TRANSPORT_OPTIONS: "{'master_name': 'hunter2'}" }), [
    'broker_transport_options (CELERY_BROKER_TRANSPORT_OPTIONS): expected a map in JSON, such as {"visibility_timeout": 43200}; names and texts have double quotes',
  ]);
  assert.match(
    mistakesOf({ CELERY_BROKER_TRANSPORT_OPTIONS: '{"visibilty_timeout": 5}' }).join(),
    /^broker_transport_options\.visibilty_timeout \(CELERY_BROKER_TRANSPORT_OPTIONS\): .*did you mean visibility_timeout/u,
  );
  assert.match(
    mistakesOf({ CELERY_BROKER_USE_SSL: '{"ca_certs": "/x"}' }).join(),
    /^broker_use_ssl\.ca_certs \(CELERY_BROKER_USE_SSL\): expected no such key: with Redis the keys have ssl_/u,
  );
});

test('a variable of Celery’s for another kind of broker is told, and one of ours is a mistake', () => {
  const loaded = load({ CELERY_BROKER_HEARTBEAT: '10', CELERY_MASTER_NAME: 'm' });
  assert.deepEqual(loaded.ok && loaded.warnings, [
    'CELERY_BROKER_HEARTBEAT has no effect: broker_url has no AMQP address',
    'CELERY_MASTER_NAME has no effect: broker_url has no sentinel:// address',
  ]);
  assert.match(
    mistakesOf({ CELERY_OTEL_EVENT_QUEUE_BYTES_MAX: '2097152' }).join(),
    /expected no AMQP option/u,
  );
});

for (const [name, read] of OLD_NAMES) {
  test(`${name} is reported as an old name, unless ${read} is set too`, () => {
    const loaded = load({ [name]: 'hunter2', CELERY_BROKER_URL: 'redis://h' });
    const isSet = read === 'CELERY_BROKER_URL';
    const warning = `${name} has no effect: it is an old name; set ${read}`;
    assert.deepEqual(loaded.ok && loaded.warnings, isSet ? [] : [warning]);
  });
}

test('a heartbeat may be Python’s None or a float', () => {
  for (const [text, seconds] of [
    ['None', 0],
    ['null', 0],
    ['120.0', 120],
  ] as const) {
    const loaded = load({ CELERY_BROKER_URL: 'amqp://h', CELERY_BROKER_HEARTBEAT: text });
    assert.equal(loaded.ok && loaded.config.services[0].broker.amqp.heartbeatS, seconds);
  }
});

test('a serializer that is never read is reported', () => {
  const env = { CELERY_EVENT_SERIALIZER: 'pickle', CELERY_TASK_SERIALIZER: 'yaml' };
  const loaded = load(env);
  assert.deepEqual(loaded.ok && loaded.warnings, [
    'with CELERY_EVENT_SERIALIZER other than json, no event can be read (docs/brokers.md, “Serializers”)',
    'with CELERY_TASK_SERIALIZER other than json, workers use it for replies, so their pools and queues are unknown (docs/brokers.md, “Serializers”)',
  ]);
  const readable = load({ CELERY_EVENT_SERIALIZER: 'json', CELERY_TASK_SERIALIZER: 'my-json' });
  assert.deepEqual(readable.ok && readable.warnings, []);
});

test('a map that is copied names the keys without effect, each once', () => {
  const map = '{"fanout_patterns": true, "fanout_prefix": true, "visibility_timeout": 5, "master_name": "m"}';
  const warned = (url: string) => {
    const loaded = load({ CELERY_BROKER_URL: url, CELERY_BROKER_TRANSPORT_OPTIONS: map });
    return (
      loaded.ok && loaded.warnings.map((line) => line.replace(/^broker_transport_options\.(\w+) .*/u, '$1'))
    );
  };
  assert.deepEqual(warned('redis://h'), ['master_name']);
  assert.deepEqual(warned('amqp://h'), [
    'master_name',
    'fanout_prefix',
    'fanout_patterns',
    'visibility_timeout',
  ]);
});

for (const [name, because] of UNREAD) {
  test(`${name} is told to have no effect`, () => {
    const loaded = load({ [name]: 'hunter2' });
    assert.deepEqual(loaded.ok && loaded.warnings, [`${name} has no effect: ${because}`]);
  });
}
