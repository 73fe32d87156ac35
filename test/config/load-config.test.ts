import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { loadConfig, loadRecordConfig } from '../../src/config/load-config.ts';
import { describeMistake, type Mistake } from '../../src/config/mistake.ts';
import { flagOf, optionRows } from '../../src/config/options.ts';
import type { OptionSources } from '../../src/config/read-options.ts';
import { addressFor, needsMaster, sampleOf } from './option-brokers.ts';
import { FILES } from './option-cases.ts';
import { sources } from './sources.ts';

function configOf(more: Partial<OptionSources>): Config {
  const loaded = loadConfig(sources('run', more));
  assert.ok(loaded.ok, JSON.stringify(loaded));
  return loaded.config;
}

function mistakesOf(more: Partial<OptionSources>): readonly Mistake[] {
  const loaded = loadConfig(sources('run', more));
  assert.ok(!loaded.ok, 'there was no mistake');
  return loaded.mistakes;
}

test('lost_timeout is at least worker_timeout: its default follows, a smaller value is a mistake', () => {
  const plain = {
    CELERY_BROKER_URL: 'amqp://a',
    OTEL_SERVICE_NAME: 'shop',
    CELERY_OTEL_WORKER_TIMEOUT: '300',
  };
  const longer = loadConfig({ argv: [], env: plain });
  assert.ok(longer.ok);
  assert.equal(longer.config.services[0].cluster.lostTimeoutMs, 300_000);
  const shorter = loadConfig({ argv: ['--lost-timeout', '299'], env: plain });
  assert.ok(!shorter.ok);
  assert.deepEqual(
    shorter.mistakes.map(({ path, expected }) => [path, expected]),
    [['lost_timeout', 'at least worker_timeout (300 s)']],
  );
});

test('an overridden value is not checked', () => {
  const env = { OTEL_EXPORTER_OTLP_TIMEOUT: 'soon', OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '2' };
  assert.equal(configOf({ env }).otlp.exporter.timeoutMs, 2);
});

test('what is wrong with the protocol is not blamed on the endpoint', () => {
  const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http', OTEL_EXPORTER_OTLP_ENDPOINT: 'anything' };
  assert.deepEqual(
    mistakesOf({ env }).map(({ path }) => path),
    ['otlp_protocol'],
  );
});

test('the service name is from its own option, else from the resource attributes, and is not repeated there', () => {
  const attributes = 'service.name=billing,service.namespace=money';
  const load = (env: Record<string, string>) => {
    const { name, attributes: rest } = configOf({ env }).services[0];
    return { name, rest };
  };
  const rest = { 'service.namespace': 'money' };
  assert.deepEqual(load({ OTEL_RESOURCE_ATTRIBUTES: attributes }), { name: 'shop', rest });
  assert.deepEqual(load({ OTEL_SERVICE_NAME: '', OTEL_RESOURCE_ATTRIBUTES: attributes }), {
    name: 'billing',
    rest,
  });
});

test('a name that may be in malformed attributes is not also reported as missing', () => {
  const mistakes = mistakesOf({ env: { OTEL_SERVICE_NAME: '', OTEL_RESOURCE_ATTRIBUTES: 'service.name' } });
  assert.deepEqual(
    mistakes.map(({ path }) => path),
    ['resource_attributes'],
  );
});

test('keys named like built-in properties are ordinary keys', () => {
  const config = configOf({ env: { OTEL_RESOURCE_ATTRIBUTES: '__proto__=a,constructor=b' } });
  assert.deepEqual(Object.entries(config.services[0].attributes), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
  assert.equal(Object.getPrototypeOf(config.services[0].attributes), Object.prototype);
});

test('the default export timeout follows a short interval, an explicit one does not', () => {
  const env = { OTEL_METRIC_EXPORT_INTERVAL: '1000' };
  assert.equal(configOf({ env }).otlp.schedule.timeoutMs, 1000);
  const [mistake] = mistakesOf({ env: { ...env, OTEL_METRIC_EXPORT_TIMEOUT: '1001' } });
  assert.deepEqual(mistake, {
    path: 'metric_export_timeout',
    source: 'OTEL_METRIC_EXPORT_TIMEOUT',
    value: '"1001"',
    expected: 'at most the interval (1000 ms)',
  });
});

test('options that belong together require each other', () => {
  const cases: [env: Record<string, string>, path: string][] = [
    [{ OTEL_EXPORTER_OTLP_CLIENT_KEY: FILES.key }, 'otlp_client_certificate'],
    [{ OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: FILES.certificate }, 'otlp_client_key'],
    [{ CELERY_OTEL_WORKER_TIMEOUT: '601' }, 'series_retention'],
  ];
  for (const [env, path] of cases) {
    assert.deepEqual(
      mistakesOf({ env }).map((mistake) => mistake.path),
      [path],
    );
  }
});

test('metrics and opt-in attributes are chosen by flags', () => {
  const argv = [
    ...['--disable-metrics=*', '--enable-metrics=celery.task.runtime'],
    '--enable-attributes=celery.task.prefetch_time/celery.worker.name',
  ];
  assert.deepEqual(configOf({ argv }).services[0].choice, {
    metrics: new Set(['celery.task.runtime']),
    optIns: new Set(['celery.task.prefetch_time/celery.worker.name']),
  });
});

test('a metric both enabled and disabled is a mistake', () => {
  const [mistake, ...more] = mistakesOf({
    env: { CELERY_OTEL_METRICS_DISABLED: 'celery.task.*,celery.worker.up' },
    argv: ['--enable-metrics=celery.task.sent,celery.worker.up'],
  });
  assert.deepEqual(more, []);
  assert.deepEqual(mistake, {
    path: 'metrics_enabled',
    source: '--enable-metrics',
    value: '"celery.task.sent,celery.worker.up"',
    expected: 'no names that are also in metrics_disabled: celery.worker.up',
  });
});

test('with a recording, a broker option is a mistake, and a variable of Celery’s has no effect', () => {
  for (const [command, load] of [
    ['run', loadConfig],
    ['record', loadRecordConfig],
  ] as const) {
    const rows = optionRows(command).filter(([, { transport }]) => transport !== undefined);
    assert.equal(rows.length, command === 'run' ? 28 : 18);
    for (const [key, { env: names, format }] of rows) {
      const text = sampleOf(key);
      const flag = flagOf(key);
      const ways = [
        { source: flag, argv: [`${flag}=${text}`], env: {} },
        ...names.map((name) => ({ source: name, argv: [], env: { [name]: text } })),
      ];
      for (const { source, argv, env } of ways) {
        const master = needsMaster(key) ? { CELERY_MASTER_NAME: 'main' } : {};
        const fitting = { ...env, ...master, CELERY_BROKER_URL: addressFor(key) };
        assert.ok(load(sources(command, { argv, env: fitting })).ok, source);
        const recording = { ...env, CELERY_BROKER_URL: 'recording:x' };
        const loaded = load(sources(command, { argv, env: recording }));
        if (source.startsWith('CELERY_') && !source.startsWith('CELERY_OTEL_')) {
          assert.deepEqual(loaded.ok && loaded.warnings, [
            `${source} has no effect: a recording has no broker`,
          ]);
          continue;
        }
        assert.deepEqual(loaded.ok ? [] : loaded.mistakes.map(describeMistake), [
          `${key} (${source}) is ${format.show(text)}: expected no broker option with a recording: ` +
            'remove it, or listen to a broker',
        ]);
      }
    }
  }
});

test('record needs a broker and a file', () => {
  const loaded = loadRecordConfig({
    argv: ['--out', 'a.ndjson', '--force'],
    env: { CELERY_BROKER_URL: 'amqp://rabbit', LOG_LEVEL: 'warn' },
  });
  assert.ok(loaded.ok);
  assert.equal(loaded.config.file, 'a.ndjson');
  assert.equal(loaded.config.logLevel, 'warn');
  assert.equal(loaded.config.broker.connectTimeoutMs, 5000);
});

test('record replaces a file only with --force', () => {
  const mistakes = (argv: string[]) => {
    const loaded = loadRecordConfig(sources('record', { argv: [`--out=${FILES.other}`, ...argv] }));
    return loaded.ok ? [] : loaded.mistakes.map(({ path, expected }) => ({ path, expected }));
  };
  const refused = [{ path: 'out', expected: 'a file that does not exist yet, or --force' }];
  assert.deepEqual(mistakes([]), refused);
  assert.deepEqual(mistakes(['--force=false']), refused);
  assert.deepEqual(mistakes(['--force']), []);
});

test('only the given environment is read', (t) => {
  const before = process.env['OTEL_METRIC_EXPORT_INTERVAL'];
  t.after(() => {
    if (before === undefined) delete process.env['OTEL_METRIC_EXPORT_INTERVAL'];
    else process.env['OTEL_METRIC_EXPORT_INTERVAL'] = before;
  });
  process.env['OTEL_METRIC_EXPORT_INTERVAL'] = '77';
  assert.equal(configOf({}).otlp.schedule.intervalMs, 60_000);
});

test('what is replayed has its values at once, unless they are asked for', () => {
  const recording = { CELERY_BROKER_URL: 'recording:x' };
  for (const [env, zeroFirstMs] of [
    [recording, undefined],
    [{ ...recording, CELERY_OTEL_ZERO_FIRST: '5' }, 5000],
    [{ CELERY_OTEL_ZERO_FIRST: 'off' }, undefined],
    [{ CELERY_OTEL_ZERO_FIRST: '0' }, 0],
  ] as const) {
    const loaded = loadConfig(sources('run', { env }));
    assert.equal(loaded.ok && loaded.config.otlp.streams.zeroFirstMs, zeroFirstMs);
  }
});
