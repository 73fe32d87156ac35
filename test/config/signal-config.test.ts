/** Traces and logs without a file, and beside one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envOf, flagOf, signalRows } from '../../src/config/options.ts';
import { configOf, mistakesOf } from './configuration-files.ts';
import { FILES, OPTION_CASES } from './option-cases.ts';
import { BATCH, configOutside, mistakesOutside, withSections } from './signal-files.ts';

const ON = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' };
const SIGNALS = ['traces', 'logs'] as const;

test('nothing is made unless it is asked for', () => {
  for (const env of [{}, { OTEL_TRACES_EXPORTER: 'none', OTEL_LOGS_EXPORTER: '' }]) {
    const config = configOutside(env);
    assert.ok(!('traces' in config) && !('logs' in config));
  }
  const { traces, logs } = configOutside(ON);
  assert.ok(traces !== undefined && logs !== undefined);
  assert.equal(traces.settings.exceptionEvents, false);
  const alone = configOutside({ OTEL_TRACES_EXPORTER: 'otlp' });
  assert.equal(alone.logs, undefined);
  assert.equal(alone.traces?.settings.exceptionEvents, true);
  assert.equal(configOutside({}, ['--logs-exporter=otlp']).logs?.exporter.protocol, 'grpc');
});

test('what the pages show of exceptions is set as for log records, which decide if there are any', () => {
  const env = { CELERY_OTEL_STATUS_ADDRESS: '0', CELERY_OTEL_LOGS_REDACT: 'x' };
  const exceptions = {
    exceptionMessage: true,
    exceptionStacktrace: true,
    redact: [/x/gu],
    redactNames: [],
  };
  assert.deepEqual(configOutside(env).exceptions, exceptions);
  const flags = ['--logs-exception-stacktrace=false'];
  assert.deepEqual(configOutside(env, flags).exceptions, { ...exceptions, exceptionStacktrace: false });
  assert.equal(configOutside({ ...env, OTEL_LOGS_EXPORTER: 'otlp' }).exceptions, undefined);
  assert.equal(configOutside({}).exceptions, undefined);
  assert.deepEqual(
    configOf(withSections('', 'status: { address: 0 }, logs: { redact: [x] }')).exceptions,
    exceptions,
  );
  const off = withSections(
    `logger_provider: { processors: [ ${BATCH} ], logger_configurator/development: { default_config: { enabled: false } } }`,
    'status: { address: 0 }, logs: { redact: [x], exception_message: false }',
  );
  assert.deepEqual(
    configOf(off).exceptions,
    { ...exceptions, exceptionMessage: false },
    'no records are made',
  );
  const [mistake, ...others] = mistakesOutside({ ...env, CELERY_OTEL_LOGS_WORKERS: 'true' });
  assert.match(mistake ?? '', /LOGS_WORKERS.*expected no option of logs/u);
  assert.deepEqual(others, []);
});

/** They need others beside them, or mean something else as flags. */
const OTHERS: readonly string[] = [
  'otlp_endpoint',
  'otlp_client_certificate',
  'otlp_client_key',
  'traces_sampler_arg',
];

test('each variable of a signal is read for it as its flag is, and one of it alone for no other', () => {
  for (const [signal, other] of [
    ['traces', 'logs'],
    ['logs', 'traces'],
  ] as const) {
    for (const [key, row] of signalRows(signal)) {
      if (key === 'config' || OTHERS.includes(key)) continue;
      // One that means the default would be found without being read.
      const [text] =
        OPTION_CASES[key].good.find(([, value]) => String(value) !== row.default) ?? assert.fail(key);
      for (const name of envOf(key, signal)) {
        const config = configOutside({ ...ON, [name]: text });
        assert.deepEqual(config[signal], configOutside(ON, [`${flagOf(key)}=${text}`])[signal], name);
        if (!name.startsWith(`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}`)) continue;
        assert.deepEqual(config[other], configOutside(ON)[other], name);
      }
    }
  }
});

test('a client certificate and its key for one signal are no other’s', () => {
  for (const [signal, other] of [
    ['traces', 'logs'],
    ['logs', 'traces'],
  ] as const) {
    const start = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}`;
    const own = { [`${start}_CLIENT_CERTIFICATE`]: FILES.certificate, [`${start}_CLIENT_KEY`]: FILES.key };
    const config = configOutside({ ...ON, ...own });
    assert.equal(config[signal]?.exporter.clientCertificateFile, FILES.certificate);
    assert.equal(config[signal]?.exporter.clientKeyFile, FILES.key);
    assert.equal(config[other]?.exporter.clientCertificateFile, undefined);
    assert.equal(config.otlp.exporter.clientKeyFile, undefined);
  }
});

test('a flag wins over the variable for the signal, that over the one for all signals', () => {
  const all = { ...ON, OTEL_EXPORTER_OTLP_TIMEOUT: '1', OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '6' };
  const own = { ...all, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2', OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '3' };
  const timeouts = (...parts: Parameters<typeof configOutside>) => {
    const { otlp, traces, logs } = configOutside(...parts);
    return [otlp, traces, logs].map((one) => one?.exporter.timeoutMs);
  };
  assert.deepEqual(timeouts(ON), [10_000, 10_000, 10_000]);
  assert.deepEqual(timeouts(all), [1, 1, 1]);
  assert.deepEqual(timeouts(own), [3, 2, 1]);
  assert.deepEqual(timeouts(own, ['--otlp-timeout=4']), [4, 4, 4]);
  for (const signal of SIGNALS) assert.equal(configOutside(all)[signal]?.settings.attributeValueLengthMax, 6);
});

test('the endpoint of all signals is a base over HTTP, that of one is whole, and that of the flag is for metrics', () => {
  const http = { ...ON, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' };
  const endpoints = (...parts: Parameters<typeof configOutside>) => {
    const { otlp, traces, logs } = configOutside(...parts);
    return [otlp, traces, logs].map((one) => one?.exporter.endpoint);
  };
  const at = (base: string) => ['metrics', 'traces', 'logs'].map((signal) => `${base}/v1/${signal}`);
  assert.deepEqual(endpoints(http), at('http://localhost:4318'));
  assert.deepEqual(endpoints({ ...http, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c/x/' }), at('http://c/x'));
  assert.deepEqual(endpoints(http, ['--otlp-endpoint=http://c/v1/metrics']), at('http://c'));
  assert.deepEqual(endpoints(ON, ['--otlp-endpoint=http://c:1']), ['http://c:1', 'http://c:1', 'http://c:1']);
  assert.deepEqual(
    endpoints({
      ...http,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t',
      OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://l:1',
    }),
    ['http://c/v1/metrics', 'http://t/', 'http://l:1'],
  );
  assert.deepEqual(mistakesOutside(http, ['--otlp-endpoint=http://c/x']), [
    'otlp_endpoint (--otlp-endpoint) is "http://c/x": expected http://host[:port]/path or https://host[:port]/path; /v1/metrics at its end, which becomes /v1/traces for traces',
    'otlp_endpoint (--otlp-endpoint) is "http://c/x": expected http://host[:port]/path or https://host[:port]/path; /v1/metrics at its end, which becomes /v1/logs for logs',
  ]);
});

test('headers for all signals are merged with those for one', () => {
  const { otlp, traces, logs } = configOutside({
    ...ON,
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=2,c=2',
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'd=3',
  });
  assert.deepEqual(otlp.exporter.headers, { a: '1', b: '1', d: '3' });
  assert.deepEqual(traces?.exporter.headers, { a: '1', b: '2', c: '2' });
  assert.deepEqual(logs?.exporter.headers, { a: '1', b: '1' });
});

test('samplers are named as in the standard', () => {
  const ON_ = { kind: 'always_on' } as const;
  const OFF = { kind: 'always_off' } as const;
  const share = { kind: 'probability', ratio: 0.25 } as const;
  const following = (root: object) => ({
    kind: 'parent_based',
    root,
    remoteSampled: ON_,
    remoteNotSampled: OFF,
  });
  const expected = {
    '': following(ON_),
    always_on: ON_,
    always_off: OFF,
    traceidratio: share,
    parentbased_always_on: following(ON_),
    parentbased_always_off: following(OFF),
    parentbased_traceidratio: following(share),
  };
  for (const [name, sampler] of Object.entries(expected)) {
    const env = { ...ON, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.25' };
    assert.deepEqual(configOutside(env).traces?.settings.sampler, sampler, name);
  }
  assert.deepEqual(configOutside({ ...ON, OTEL_TRACES_SAMPLER: 'traceidratio' }).traces?.settings.sampler, {
    ...share,
    ratio: 1,
  });
  assert.deepEqual(mistakesOutside(ON, ['--traces-sampler-arg=0.5']), [
    'traces_sampler_arg (--traces-sampler-arg) is "0.5": expected traceidratio or parentbased_traceidratio as traces_sampler',
  ]);
});

test('all failures, all slow runs and a share of the rest, without a file', () => {
  const { traces } = configOutside({
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.05',
    CELERY_OTEL_TRACES_KEEP: 'errors,slow',
    CELERY_OTEL_TRACES_SLOW_AFTER: '10',
  });
  const sampler = { kind: 'always_on' };
  assert.deepEqual(traces?.settings.sampler, {
    kind: 'rule_based',
    rules: [
      {
        attributeValues: { key: 'celery.task.outcome', values: ['failed', 'rejected', 'terminated', 'lost'] },
        sampler,
      },
      { attributeValues: { key: 'celery.task.slow', values: ['true'] }, sampler },
      { sampler: { kind: 'parent_threshold', root: { kind: 'probability', ratio: 0.05 } } },
    ],
  });
  assert.equal(traces.settings.slowAfterMs, 10_000);
});

test('an option of a signal that is off is a mistake, unless it may be meant for another program', () => {
  for (const signal of SIGNALS) {
    const rows = signalRows(signal).filter((row) => row[1].signal === signal);
    assert.ok(rows.length > 8);
    for (const [key, { format }] of rows) {
      if (key === 'config') continue;
      const text = OPTION_CASES[key].good[0]?.[0] ?? '';
      const mistake = (source: string) =>
        `${key} (${source}) is ${format.show(text)}: expected no option of ${signal}, because there are none: ` +
        `remove it, or set OTEL_${signal.toUpperCase()}_EXPORTER=otlp`;
      assert.deepEqual(mistakesOutside({}, [`${flagOf(key)}=${text}`]), [mistake(flagOf(key))]);
      for (const name of envOf(key, signal)) {
        if (name.startsWith('OTEL_')) configOutside({ [name]: 'any :// value' });
        else assert.deepEqual(mistakesOutside({ [name]: text }), [mistake(name)]);
      }
    }
  }
});

test('what is wrong with a variable of all signals is said once', () => {
  const wrong = { ...ON, OTEL_EXPORTER_OTLP_TIMEOUT: 'soon', OTEL_EXPORTER_OTLP_CLIENT_KEY: FILES.key };
  assert.equal(mistakesOutside(wrong).length, 2);
  const [mistake, ...others] = mistakesOutside({
    ...ON,
    OTEL_EXPORTER_OTLP_LOGS_TIMEOUT: 'soon',
    OTEL_BLRP_MAX_QUEUE_SIZE: '5',
    OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: '6',
  });
  assert.match(mistake ?? '', /^otlp_timeout \(OTEL_EXPORTER_OTLP_LOGS_TIMEOUT\) is "soon": /u);
  assert.deepEqual(others, [
    'blrp_max_export_batch_size (OTEL_BLRP_MAX_EXPORT_BATCH_SIZE) is "6": expected at most blrp_max_queue_size (5)',
  ]);
});

test('beside a file, options of our own win over it, and the standard’s variables are ignored', () => {
  const text = withSections(
    `tracer_provider: { processors: [ ${BATCH} ] }`,
    'traces: { max_spans: 5, max_age: 6 }',
  );
  const { traces, logs } = configOf(text, {
    argv: ['--traces-max-spans=7'],
    env: {
      ...ON,
      OTEL_TRACES_SAMPLER: 'always_off',
      CELERY_OTEL_TRACES_MAX_AGE: '8',
      OTEL_BSP_SCHEDULE_DELAY: '1',
    },
  });
  assert.equal(logs, undefined);
  assert.equal(traces?.settings.maxSpans, 7);
  assert.equal(traces.settings.maxAgeMs, 8000);
  assert.equal(traces.settings.sampler.kind, 'parent_based');
  assert.equal(traces.batch.scheduleDelayMs, 5000);
  assert.deepEqual(mistakesOf(text, { env: { CELERY_OTEL_TRACES_KEEP: 'slow' } }), [
    'traces_keep (CELERY_OTEL_TRACES_KEEP): expected no such variable with f; set tracer_provider.sampler there',
  ]);
});
