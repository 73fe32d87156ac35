import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Mistake } from '../../src/config/mistake.ts';
import {
  envOf,
  flagOf,
  isOptionKey,
  OPTIONS,
  type OptionCommand,
  type OptionKey,
  optionRows,
} from '../../src/config/options.ts';
import { type OptionSources, readOptions } from '../../src/config/read-options.ts';
import { addressFor, needsMaster } from './option-brokers.ts';
import { OPTION_CASES } from './option-cases.ts';
import { sources } from './sources.ts';

/** Defaults of the OpenTelemetry and OTLP exporter specifications, of Celery, and of the design. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  broker_failover_strategy: 'round-robin',
  broker_heartbeat: 30,
  broker_login_method: 'PLAIN',
  broker_connection_timeout: 5,
  event_exchange: 'celeryev',
  event_queue_prefix: 'celeryev',
  event_queue_bytes_max: 67_108_864,
  fanout_prefix: '/{db}.',
  fanout_patterns: true,
  client_name: 'celery-otel',
  socket_keepalive: true,
  health_check_interval: 25,
  socket_timeout: 5,
  sep: 'auto',
  priority_steps: [0, 3, 6, 9],
  unacked_key: 'unacked',
  unacked_index_key: 'unacked_index',
  visibility_timeout: 3600,
  control_exchange: 'celery',
  task_default_queue: 'celery',
  collection_interval: 15,
  initial_delay: 1,
  timeout: 1,
  control_commands: 'auto',
  enable_events: false,
  worker_timeout: 30,
  lost_timeout: 120,
  series_retention: 600,
  tasks_max: 100_000,
  workers_max: 10_000,
  reordering_window: 1,
  reordering_events_max: 100_000,
  skew_pairs_max: 100,
  otlp_protocol: 'grpc',
  otlp_insecure: false,
  otlp_compression: 'none',
  otlp_timeout: 10_000,
  otlp_temporality_preference: 'cumulative',
  otlp_default_histogram_aggregation: 'explicit_bucket_histogram',
  metric_export_interval: 60_000,
  metric_export_timeout: 30_000,
  metrics_exemplar_filter: 'trace_based',
  traces_exporter: 'none',
  logs_exporter: 'none',
  traces_sampler: 'parentbased_always_on',
  traces_sampler_arg: 1,
  bsp_schedule_delay: 5000,
  bsp_export_timeout: 30_000,
  bsp_max_queue_size: 16_384,
  bsp_max_export_batch_size: 512,
  blrp_schedule_delay: 1000,
  blrp_export_timeout: 30_000,
  blrp_max_queue_size: 16_384,
  blrp_max_export_batch_size: 512,
  traces_spans: 'all',
  traces_join: false,
  traces_send_spans: true,
  traces_slow_after: 60,
  traces_max_delay: 600,
  traces_max_spans: 5000,
  traces_max_age: 21_600,
  traces_hold: 300,
  traces_arguments: false,
  logs_exception_message: true,
  logs_exception_stacktrace: true,
  logs_workers: true,
  log_level: 'info',
  status_ready: 'any',
  status_runs: 10_000,
  zero_first: 60,
  mark_ended: true,
  self_telemetry: true,
  all: false,
  schema: false,
  seconds: 5,
  strict: false,
  json: false,
  force: false,
  format: 'md',
};

/** What an option requires to be valid alone. */
const COMPANIONS: Partial<Record<OptionKey, Record<string, string>>> = {
  otlp_client_certificate: { OTEL_EXPORTER_OTLP_CLIENT_KEY: OPTION_CASES.otlp_client_key.good[0]?.[0] ?? '' },
  otlp_client_key: {
    OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: OPTION_CASES.otlp_certificate.good[0]?.[0] ?? '',
  },
  traces_sampler_arg: { OTEL_TRACES_SAMPLER: 'traceidratio' },
  worker_timeout: { CELERY_OTEL_SERIES_RETENTION: '86400' },
};

/** Every way to give an option a text. */
function waysToGive(
  key: OptionKey,
  text: string,
): { command: OptionCommand; source: string; given: OptionSources }[] {
  const row = OPTIONS[key];
  const flag = flagOf(key);
  const beside = {
    ...(key === 'broker_url' ? {} : { CELERY_BROKER_URL: addressFor(key) }),
    ...(needsMaster(key) ? { CELERY_MASTER_NAME: 'main' } : {}),
    ...COMPANIONS[key],
  };
  return row.commands.flatMap((command) => [
    { command, source: flag, given: sources(command, { argv: [`${flag}=${text}`], env: beside }) },
    ...envOf(key).map((name) => ({
      command,
      source: name,
      given: sources(command, { env: { ...beside, [name]: ` ${text}\n` } }),
    })),
  ]);
}

const CASES = Object.keys(OPTION_CASES)
  .filter(isOptionKey)
  .flatMap((key) => (key === 'config' ? [] : [key]));

for (const key of CASES) {
  test(`${key} is read from its flag and from each of its variables`, () => {
    for (const [text, value] of OPTION_CASES[key].good) {
      for (const { command, source, given } of waysToGive(key, text)) {
        const result = readOptions(command, given);
        assert.ok(result.ok, `${source}=${text}: ${JSON.stringify(result)}`);
        assert.deepEqual(result.options.value(key), value, `${source}=${text}`);
        assert.equal(result.options.isGiven(key), true);
      }
    }
  });

  test(`${key} refuses malformed values and reports their source`, () => {
    for (const text of OPTION_CASES[key].bad) {
      for (const { command, source, given } of waysToGive(key, text)) {
        const result = readOptions(command, given);
        assert.ok(!result.ok, `${source}=${JSON.stringify(text)} was accepted`);
        // One variable is read for two signals.
        const readers = optionRows(command).filter(
          ([other, row]) => other === key || row.env.includes(source),
        );
        const said = `${source}=${text}: ${JSON.stringify(result.mistakes)}`;
        assert.equal(result.mistakes.length, readers.length, said);
        const mistake = result.mistakes.find(({ path }) => path === key);
        assert.equal(mistake?.path, key);
        assert.equal(mistake?.source, source);
        assert.ok((mistake?.expected ?? '').length > 0);
        assert.ok((mistake?.value ?? '').length > 0);
      }
    }
  });
}

test('every option has the default of its specification, and only those do', () => {
  for (const command of ['run', 'config', 'record', 'metrics'] as const) {
    const result = readOptions(command, sources(command, {}));
    assert.ok(result.ok);
    for (const [key, row] of optionRows(command)) {
      if (result.options.isGiven(key)) continue;
      assert.deepEqual(result.options.value(key), DEFAULTS[key], key);
      assert.equal(row.default !== undefined, Object.hasOwn(DEFAULTS, key), key);
    }
  }
});

test('an empty variable is like an unset one', () => {
  for (const command of ['run', 'config', 'record', 'metrics'] as const) {
    const blank = Object.fromEntries(optionRows().flatMap(([, row]) => row.env.map((name) => [name, ' \n'])));
    const plain = readOptions(command, sources(command, {}));
    const result = readOptions(command, {
      argv: sources(command, {}).argv,
      env: { ...blank, ...sources(command, {}).env },
    });
    assert.ok(plain.ok && result.ok);
    for (const [key] of optionRows(command)) {
      assert.deepEqual(result.options.value(key), plain.options.value(key), key);
    }
  }
});

test('no two options share a flag or a variable', () => {
  const names = optionRows().flatMap(([key, row]) => [flagOf(key), ...row.env]);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  assert.deepEqual(twice, ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'], 'of spans and of log records');
});

test('the description of every option is one sentence', () => {
  for (const [key, row] of optionRows()) assert.match(row.doc, /^[A-Z`][^\n]*\.$/, key);
});

test('the expected format of a number names its unit', () => {
  const units = optionRows().flatMap(([key, { doc, format }]) => {
    const unit = /^(Seconds|Milliseconds) /u.exec(doc)?.[1]?.toLowerCase();
    return unit === undefined ? [] : [[key, unit, format.expects] as const];
  });
  assert.ok(units.length >= 8);
  for (const [key, unit, expects] of units) assert.ok(expects.startsWith(`${unit}, `), `${key}: ${expects}`);
});

test('an option of another command is neither read nor checked', () => {
  const env = { OTEL_EXPORTER_OTLP_TIMEOUT: 'soon', OTEL_SERVICE_NAME: '' };
  const result = readOptions('record', sources('record', { env }));
  assert.ok(result.ok);
  assert.equal(result.options.value('otlp_timeout'), undefined);
  assert.throws(() => result.options.need('otlp_timeout'), /otlp_timeout/);
});

test('a missing required option is reported by its path', () => {
  const missing = (command: OptionCommand): readonly Mistake[] => {
    const result = readOptions(command, { argv: [], env: {} });
    return result.ok ? [] : result.mistakes;
  };
  assert.deepEqual(
    missing('run').map(({ path, source, value }) => ({ path, source, value })),
    ['broker_url', 'service_name'].map((path) => ({ path, source: undefined, value: undefined })),
  );
  assert.deepEqual(
    missing('record').map(({ path }) => path),
    ['broker_url', 'out'],
  );
});

test('a flag without its value is one mistake, not also a missing option', () => {
  const result = readOptions('run', { argv: ['--broker-url', '--service-name'], env: {} });
  assert.ok(!result.ok);
  assert.deepEqual(
    result.mistakes.map(({ path, source }) => ({ path, source })),
    [
      { path: 'broker_url', source: '--broker-url' },
      { path: 'service_name', source: '--service-name' },
    ],
  );
});
