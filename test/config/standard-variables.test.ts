/** The variables of the OpenTelemetry specification: each has its effect, or is told to have none, or is a mistake. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { describeMistake } from '../../src/config/mistake.ts';
import { optionRows } from '../../src/config/options.ts';
import { STANDARD_VARIABLES } from '../../src/config/standard-variables.ts';
import { sources } from './sources.ts';

const ON = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_LOGS_EXPORTER: 'otlp' };

/** What is said of an environment. */
function reported(env: Readonly<Record<string, string>>): readonly string[] {
  const loaded = loadConfig({ ...sources('run', { env: { ...ON, ...env } }), refuseUnknown: true });
  return loaded.ok ? loaded.warnings : loaded.mistakes.map(describeMistake);
}

/** Those of the specification that options have. */
const OF_OPTIONS = [
  ...['RESOURCE_ATTRIBUTES', 'SERVICE_NAME', 'LOG_LEVEL', 'CONFIG_FILE'],
  ...['TRACES_EXPORTER', 'LOGS_EXPORTER', 'TRACES_SAMPLER', 'TRACES_SAMPLER_ARG', 'METRICS_EXEMPLAR_FILTER'],
  ...['BSP', 'BLRP'].flatMap((processor) =>
    ['SCHEDULE_DELAY', 'EXPORT_TIMEOUT', 'MAX_QUEUE_SIZE', 'MAX_EXPORT_BATCH_SIZE'].map(
      (name) => `${processor}_${name}`,
    ),
  ),
  ...['', 'SPAN_', 'LOGRECORD_'].map((what) => `${what}ATTRIBUTE_VALUE_LENGTH_LIMIT`),
  ...['', 'METRICS_', 'TRACES_', 'LOGS_'].flatMap((signal) =>
    [
      ...['ENDPOINT', 'INSECURE', 'CERTIFICATE', 'CLIENT_KEY', 'CLIENT_CERTIFICATE', 'HEADERS'],
      ...['COMPRESSION', 'TIMEOUT', 'PROTOCOL'],
    ].map((name) => `EXPORTER_OTLP_${signal}${name}`),
  ),
  'EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
  'EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION',
  ...['METRIC_EXPORT_INTERVAL', 'METRIC_EXPORT_TIMEOUT'],
].map((name) => `OTEL_${name}`);

for (const name of [...OF_OPTIONS, ...STANDARD_VARIABLES.keys()]) {
  test(`${name} is not ignored`, () => {
    const effect = STANDARD_VARIABLES.get(name);
    if (effect?.kind === 'without effect')
      assert.deepEqual(reported({ [name]: 'x' }), [`${name} has no effect: ${effect.because}`]);
    // An option of its own format, or one that is checked: nonsense is told.
    else if (!/SERVICE_NAME|ENDPOINT$|HEADERS|INSECURE|ATTRIBUTES|CONFIG_FILE/u.test(name))
      assert.match(reported({ [name]: 'nonsense' }).join(), new RegExp(name, 'u'));
    if (name !== 'OTEL_SERVICE_NAME') assert.deepEqual(reported({ [name]: '' }), []);
  });
}

test('options have these variables of the specification, and no others', () => {
  const found = optionRows().flatMap(([, { env }]) => env.filter((name) => name.startsWith('OTEL_')));
  assert.deepEqual([...new Set(found)].sort(), [...OF_OPTIONS].sort());
  assert.deepEqual(
    found.filter((name) => STANDARD_VARIABLES.has(name)),
    [],
  );
});

test('a disabled SDK and an exporter of metrics that is not there are mistakes', () => {
  assert.match(
    reported({ OTEL_SDK_DISABLED: 'True' }).join(),
    /^environment \(OTEL_SDK_DISABLED\): expected false/u,
  );
  assert.deepEqual(reported({ OTEL_SDK_DISABLED: 'FALSE' }), []);
  assert.match(reported({ OTEL_SDK_DISABLED: '1' }).join(), /not a boolean/u);
  for (const word of ['none', 'console', 'prometheus', 'otlp,console'])
    assert.match(
      reported({ OTEL_METRICS_EXPORTER: word }).join(),
      /\(OTEL_METRICS_EXPORTER\): expected otlp/u,
    );
  assert.deepEqual(reported({ OTEL_METRICS_EXPORTER: 'otlp' }), []);
});

test('a typo in a variable of the exporter is told; those of other programs are not', () => {
  assert.deepEqual(reported({ OTEL_EXPORTER_OTLP_ENDPONT: 'http://h:1' }), [
    'OTEL_EXPORTER_OTLP_ENDPONT has no effect: there is no such variable (did you mean OTEL_EXPORTER_OTLP_ENDPOINT?)',
  ]);
  assert.deepEqual(
    reported({ OTEL_PYTHON_LOG_CORRELATION: 'true', OTEL_SEMCONV_STABILITY_OPT_IN: 'http' }),
    [],
  );
});

test('a program that embeds celery-otel has variables of its own', () => {
  assert.ok(loadConfig(sources('run', { env: { OTEL_SDK_DISABLED: 'true' } })).ok);
});

test('the levels of logs have the names of Python and of OpenTelemetry, too', () => {
  for (const [text, level] of [
    ['WARNING', 'warn'],
    ['CRITICAL', 'fatal'],
    ['NOTSET', 'trace'],
    ['verbose', 'trace'],
    ['none', 'silent'],
    ['Debug', 'debug'],
  ] as const)
    for (const name of ['LOG_LEVEL', 'OTEL_LOG_LEVEL']) {
      const loaded = loadConfig(sources('run', { env: { [name]: text } }));
      assert.equal(loaded.ok && loaded.config.logLevel, level);
    }
  assert.match(reported({ LOG_LEVEL: 'loud' }).join(), /expected one of trace/u);
});

test('quotes around an address are named', () => {
  for (const quoted of ['"redis://:hunter2@h"', "'amqp://h'"]) {
    const [mistake = ''] = reported({ CELERY_BROKER_URL: quoted });
    assert.match(mistake, /expected a broker address, without quotes around it$/u);
    assert.doesNotMatch(mistake, /hunter2/u);
  }
  for (const protocol of ['grpc', 'http/protobuf'])
    assert.match(
      reported({
        OTEL_EXPORTER_OTLP_ENDPOINT: '"http://h:4317"',
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      }).join(),
      /without quotes around it$/u,
    );
});
