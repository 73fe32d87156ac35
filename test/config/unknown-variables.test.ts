import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LoadedConfig, loadConfig, loadRecordConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import { optionRows } from '../../src/config/options.ts';
import { unknownVariables } from '../../src/config/unknown-variables.ts';
import { fileWith, METER_PROVIDER, setVariables } from './configuration-files.ts';
import { sources } from './sources.ts';

function reported(env: Readonly<Record<string, string>>): readonly string[] {
  return unknownVariables(env).map(describeMistake);
}

function mistakesOf(loaded: LoadedConfig<unknown>): readonly string[] {
  return loaded.ok ? [] : loaded.mistakes.map(describeMistake);
}

test('a typo is reported with a suggestion', () => {
  const slips: readonly (readonly [name: string, meant: string])[] = [
    ['CELERY_OTEL_WORKER_TIMEUOT', 'CELERY_OTEL_WORKER_TIMEOUT'],
    ['CELERY_OTEL_worker_timeout', 'CELERY_OTEL_WORKER_TIMEOUT'],
    // By the key of the option instead of its variable.
    ['CELERY_OTEL_METRIC_ATTRIBUTES_ENABLED', 'CELERY_OTEL_ATTRIBUTES_ENABLED'],
    ['CELERY_OTEL_DISABLED_METRICS', ''],
    // Those of Celery and of OpenTelemetry are not ours.
    ['CELERY_OTEL_BROKER_URL', 'CELERY_BROKER_URL'],
    ['CELERY_OTEL_SERVICE_NAME', 'OTEL_SERVICE_NAME'],
    ['CELERY_OTEL_METRIC_EXPORT_INTERVAL', 'OTEL_METRIC_EXPORT_INTERVAL'],
    ['CELERY_OTEL_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'],
    ['CELERY_OTEL_CONFIG', 'OTEL_CONFIG_FILE'],
    ['CELERY_OTEL_LOG_LEVEL', 'LOG_LEVEL'],
    ['CELERY_OTEL_COLOUR_OF_THE_SKY', ''],
  ];
  for (const [name, meant] of slips) {
    const hint = meant === '' ? '' : ` (did you mean ${meant}?)`;
    assert.deepEqual(reported({ [name]: 'x' }), [`environment (${name}): expected a known variable${hint}`]);
  }
});

test('variables of options are known, for any command', () => {
  const all = Object.fromEntries(optionRows().flatMap(([, { env }]) => env.map((name) => [name, 'x'])));
  assert.deepEqual(reported(all), []);
});

test('variables without the prefix, and empty ones, are ignored', () => {
  assert.deepEqual(
    reported({ CELERY_OTELX: '1', CELERY_FOO: '1', celery_otel_foo: '1', OTEL_FOO: '1', PATH: '/' }),
    [],
  );
  assert.deepEqual(reported({ CELERY_OTEL_FOO: '', CELERY_OTEL_BAR: ' \n' }), []);
});

test('Kubernetes’ variables for a service of our name are no mistake', () => {
  const links = (service: string) => ({
    [`${service}_SERVICE_HOST`]: '10.0.0.11',
    [`${service}_SERVICE_PORT`]: '4317',
    [`${service}_SERVICE_PORT_OTLP_GRPC`]: '4317',
    [`${service}_PORT`]: 'tcp://10.0.0.11:4317',
    [`${service}_PORT_4317_TCP`]: 'tcp://10.0.0.11:4317',
    [`${service}_PORT_4317_TCP_PROTO`]: 'tcp',
    [`${service}_PORT_4317_TCP_PORT`]: '4317',
    [`${service}_PORT_4317_TCP_ADDR`]: '10.0.0.11',
  });
  assert.deepEqual(reported({ ...links('CELERY_OTEL'), ...links('CELERY_OTEL_COLLECTOR_2') }), []);
});

test('Docker’s variables for a linked container of our name are no mistake', () => {
  const link = {
    CELERY_OTEL_COLLECTOR_PORT: 'udp://172.17.0.5:4317',
    CELERY_OTEL_COLLECTOR_NAME: '/bridge/celery-otel-collector',
    CELERY_OTEL_COLLECTOR_PORT_4317_UDP_START: 'udp://172.17.0.5:4317',
    CELERY_OTEL_COLLECTOR_ENV_PATH: '/usr/bin:/bin',
    CELERY_OTEL_COLLECTOR_ENV_no_proxy: '*',
  };
  assert.deepEqual(reported(link), []);
});

test('variables that only resemble those are mistakes', () => {
  const alone = {
    CELERY_OTEL_PORT: '8080',
    CELERY_OTEL_METRICS_PORT: '9464',
    CELERY_OTEL_EXPORTER_SERVICE_HOST: 'collector',
    CELERY_OTEL_SERVICE_PORT: '4317',
    CELERY_OTEL_COLLECTOR_NAME: '/bridge/celery-otel-collector',
    CELERY_OTEL_ENV_PATH: '/usr/bin',
  };
  assert.equal(reported(alone).length, Object.keys(alone).length);
  // There is one service, and it is another.
  const another = { ...alone, CELERY_OTEL_GATEWAY_PORT: 'tcp://10.0.0.11:4317' };
  assert.equal(reported(another).length, Object.keys(alone).length);
});

test('no value is quoted, and no name that may be a secret', () => {
  const name = `CELERY_OTEL_\u001b[31m${'x'.repeat(1000)}`;
  const lines = reported({ CELERY_OTEL_PASSWORD: 'hunter2', [name]: 'hunter2' });
  assert.deepEqual(lines, [
    'environment (CELERY_OTEL_PASSWORD): expected a known variable',
    'environment (a variable CELERY_OTEL_…): expected a known variable',
  ]);
});

test('where they are refused, they are reported with all other mistakes, else not at all', () => {
  const env = { CELERY_OTEL_TASK_MAX: '7', CELERY_OTEL_WORKERS_MAX: 'x', CELERY_OTEL_NONSENSE: '1' };
  const expected = [
    'environment (CELERY_OTEL_TASK_MAX): expected a known variable (did you mean CELERY_OTEL_TASKS_MAX?)',
    'environment (CELERY_OTEL_NONSENSE): expected a known variable',
  ];
  const run = sources('run', { env });
  assert.deepEqual(mistakesOf(loadConfig({ ...run, refuseUnknown: true })), [
    ...expected,
    ...mistakesOf(loadConfig(run)),
  ]);
  assert.equal(mistakesOf(loadConfig(run)).length, 1);
  const record = sources('record', { env });
  assert.deepEqual(mistakesOf(loadRecordConfig({ ...record, refuseUnknown: true })), expected);
  assert.ok(loadRecordConfig(record).ok);
});

test('with a file they are mistakes too, except those that it references', (t) => {
  setVariables(t, { CELERY_OTEL_HOST: 'rabbit' });
  const file = fileWith(
    `file_format: "1.0"\n${METER_PROVIDER}\ncelery: { services: { shop: { broker_url: "amqp://\${CELERY_OTEL_HOST}" } } }\n`,
  );
  const env = { CELERY_OTEL_HOST: 'rabbit', CELERY_OTEL_HOTS: 'rabbit' };
  const argv = ['--config', file];
  assert.deepEqual(mistakesOf(loadConfig({ argv, env, refuseUnknown: true })), [
    'environment (CELERY_OTEL_HOTS): expected a known variable',
  ]);
  assert.ok(loadConfig({ argv, env }).ok);
});
