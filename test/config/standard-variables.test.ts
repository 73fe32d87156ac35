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

const OPTION_VARIABLES = new Set(optionRows().flatMap(([, { env }]) => env));

for (const [name, effect] of STANDARD_VARIABLES) {
  test(`${name} is not ignored`, () => {
    assert.equal(OPTION_VARIABLES.has(name), effect.kind === 'option');
    if (effect.kind === 'without effect')
      assert.deepEqual(reported({ [name]: 'x' }), [`${name} has no effect: ${effect.because}`]);
    // An option of its own format, or one that is checked: nonsense is told.
    else if (!/SERVICE_NAME|ENDPOINT$|HEADERS|INSECURE|ATTRIBUTES|CONFIG_FILE/u.test(name))
      assert.match(reported({ [name]: 'nonsense' }).join(), new RegExp(name, 'u'));
    if (name !== 'OTEL_SERVICE_NAME') assert.deepEqual(reported({ [name]: '' }), []);
  });
}

test('the variables of the specification that options have are in the table', () => {
  const missing = [...OPTION_VARIABLES].filter(
    (name) => name.startsWith('OTEL_') && !STANDARD_VARIABLES.has(name),
  );
  assert.deepEqual(missing, []);
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

test('nothing is cut off the value of a header', () => {
  const env = { OTEL_EXPORTER_OTLP_HEADERS: 'cookie=a=1;b=2,x=%2C%20;' };
  const loaded = loadConfig(sources('run', { env }));
  assert.deepEqual(loaded.ok && loaded.config.otlp.exporter.headers, { cookie: 'a=1;b=2', x: ', ;' });
});
