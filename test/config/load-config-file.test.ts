/** A file with flags and variables: what wins, what is refused, and that all mistakes are reported at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig, loadRecordConfig } from '../../src/config/load-config.ts';
import { flagOf, optionRows } from '../../src/config/options.ts';
import {
  configOf,
  fileWith,
  METER_PROVIDER,
  mistakesOf,
  setVariables,
  withService,
} from './configuration-files.ts';
import { OPTION_CASES } from './option-cases.ts';
import { sources } from './sources.ts';

const TWO = `file_format: "1.0"
log_level: error
${METER_PROVIDER}
celery:
  worker_timeout: 10
  telemetry: { enabled: false }
  services:
    shop: { broker_url: "amqp://a", worker_timeout: 20, tasks_max: 2 }
    billing: { broker_url: "amqp://b" }
`;

/** Without \`celery.services\`; its resource is on line 3. */
const ONE = (resource: string, celery = '') =>
  `file_format: "1.0"\n${METER_PROVIDER}\nresource: ${resource}\n${celery}`;
const BROKER = { CELERY_BROKER_URL: 'amqp://env' };

test('a file is named by a flag, else by the specification’s variable', () => {
  const file = fileWith(TWO);
  const other = fileWith(TWO.replace('log_level: error', 'log_level: debug'));
  const level = (argv: readonly string[], env: Record<string, string>) => {
    const loaded = loadConfig({ argv, env });
    return loaded.ok ? loaded.config.logLevel : loaded.mistakes;
  };
  assert.equal(level([], { OTEL_CONFIG_FILE: file }), 'error');
  assert.equal(level([`--config=${other}`], { OTEL_CONFIG_FILE: file }), 'debug');
});

test('an option that is not of one service is read from a flag, else a variable, else the file, else its default', () => {
  const settings = (more: Parameters<typeof configOf>[1]) => {
    const { services, self, logLevel } = configOf(TWO, more);
    return [services.map(({ cluster }) => cluster.workerTimeoutMs), self.enabled, logLevel];
  };
  assert.deepEqual(settings({}), [[20_000, 10_000], false, 'error']);
  const env = { CELERY_OTEL_WORKER_TIMEOUT: '30', CELERY_OTEL_SELF_TELEMETRY: 'true', LOG_LEVEL: 'warn' };
  assert.deepEqual(settings({ env }), [[30_000, 30_000], true, 'warn']);
  assert.deepEqual(
    settings({ env, argv: ['--worker-timeout=40', '--self-telemetry=false', '--log-level=fatal'] }),
    [[40_000, 40_000], false, 'fatal'],
  );
  const { services, self, logLevel } = configOf(withService(''));
  assert.deepEqual([services[0].cluster.workerTimeoutMs, self.enabled, logLevel], [30_000, true, 'info']);
});

test('log levels are the standard’s severities, without their numbered variants', () => {
  for (const severity of ['trace', 'debug', 'info', 'warn', 'error', 'fatal']) {
    assert.equal(configOf(TWO.replace('error', severity)).logLevel, severity);
    for (const grade of ['2', '3', '4']) {
      assert.deepEqual(mistakesOf(TWO.replace('error', severity + grade)), [
        `log_level (f:2) is "${severity}${grade}": expected one of trace, debug, info, warn, error, fatal ` +
          `(did you mean ${severity}?)`,
      ]);
    }
  }
});

test('with celery.services, a flag for one service is a mistake that names the right place', () => {
  const rows = optionRows('run').filter(([, { scope }]) => scope === 'service');
  assert.ok(rows.length > 10);
  for (const [key] of rows) {
    const flag = flagOf(key);
    if (key === 'config') continue;
    const text = OPTION_CASES[key].good[0]?.[0] ?? '';
    const [mistake, ...more] = mistakesOf(TWO, { argv: [`${flag}=${text}`] });
    assert.deepEqual(more, []);
    assert.ok(
      mistake?.startsWith(`${key} (${flag}): expected no such flag with f; set celery.services`),
      mistake,
    );
  }
});

test('with a file, a flag for the export is a mistake that names the right place', () => {
  const rows = optionRows('run').filter(([, { scope }]) => scope === 'export' || scope === 'section');
  assert.ok(rows.length > 25);
  for (const text of [TWO, ONE('{ attributes_list: service.name=x }')]) {
    for (const [key, { signal: only }] of rows) {
      const flag = flagOf(key);
      if (key === 'config') continue;
      const signal =
        only ?? (key === 'traces_exporter' ? 'traces' : key === 'logs_exporter' ? 'logs' : 'metrics');
      const value = OPTION_CASES[key].good[0]?.[0] ?? '';
      const [mistake, ...more] = mistakesOf(text, { argv: [`${flag}=${value}`], env: BROKER });
      assert.deepEqual(more, []);
      const { [signal]: place } = {
        metrics: key === 'metrics_exemplar_filter' ? 'meter_provider.' : 'meter_provider.readers[0].',
        traces: 'tracer_provider',
        logs: 'logger_provider',
      };
      assert.ok(mistake?.startsWith(`${key} (${flag}): expected no such flag with f; set ${place}`), mistake);
    }
  }
  const http = TWO.replace('otlp_grpc', 'otlp_http');
  assert.match(
    mistakesOf(http, { argv: ['--otlp-timeout=5'] }).join('\n'),
    /exporter\.otlp_http\.timeout there$/,
  );
});

test('with a file, the variables of the specification are ignored', () => {
  const env = Object.fromEntries(
    optionRows('run')
      .flatMap(([, row]) => row.env)
      .filter((name) => name.startsWith('OTEL_') && name !== 'OTEL_CONFIG_FILE')
      .map((name) => [name, 'nonsense, whatever it is about']),
  );
  assert.ok(Object.keys(env).length > 15);
  assert.deepEqual(configOf(TWO, { env }), configOf(TWO));
  const one = ONE('{ attributes_list: service.name=x }');
  assert.deepEqual(configOf(one, { env: { ...env, ...BROKER } }), configOf(one, { env: BROKER }));
});

test('with celery.services, variables for one service are ignored too', () => {
  const env = Object.fromEntries(
    optionRows('run')
      .filter(([, { scope }]) => scope === 'service')
      .flatMap(([, row]) => row.env.map((name) => [name, 'nonsense\n'])),
  );
  assert.deepEqual(configOf(TWO, { env }), configOf(TWO));
});

test('without celery.services there is one service from flags and variables, with the name in the file', () => {
  const celery =
    'celery:\n  tasks_max: 5\n  metrics: { celery.task.*: { enabled: false }, celery.worker.up: { enabled: false } }\n';
  const config = configOf(
    ONE('{ attributes: [ { name: service.name, value: shop }, { name: a, value: b } ] }', celery),
    {
      env: { ...BROKER, CELERY_EVENT_EXCHANGE: 'e', CELERY_OTEL_METRICS_ENABLED: 'celery.task.sent' },
      argv: ['--control-exchange=c', '--resource-attributes=x=y'],
    },
  );
  const [{ name, attributes, broker, cluster, control, choice }, ...others] = config.services;
  assert.deepEqual(others, []);
  assert.equal(name, 'shop');
  assert.deepEqual(attributes, { a: 'b', x: 'y' });
  assert.deepEqual(config.self.attributes, { a: 'b' });
  assert.equal(broker.urls[0].label, 'amqp://guest:***@env:5672//');
  assert.equal(broker.eventExchange, 'e');
  assert.equal(control.namespace, 'c');
  assert.equal(cluster.tasksMax, 5);
  assert.deepEqual(
    [...choice.metrics].filter(
      (metric) => metric.startsWith('celery.task.') || metric === 'celery.worker.up',
    ),
    ['celery.task.sent'],
  );
});

test('the name of that service is from its flag, else the attributes of a flag, else the file', () => {
  const name = (resource: string, ...argv: string[]) =>
    configOf(ONE(resource), { env: BROKER, argv }).services[0];
  const file = '{ attributes_list: "service.name=file,a=b" }';
  assert.equal(name(file).name, 'file');
  assert.deepEqual(name(file).attributes, { a: 'b' });
  assert.equal(name(file, '--resource-attributes=service.name=attribute').name, 'attribute');
  const both = name(file, '--resource-attributes=service.name=attribute', '--service-name=flag');
  assert.equal(both.name, 'flag');
  assert.deepEqual(both.attributes, { a: 'b' });
  assert.equal(name('{ attributes: [ { name: service.name, value: 5, type: int } ] }').name, '5');
  for (const nameless of ['{}', '{ attributes_list: "a=b" }', '{ attributes_list: "service.name=" }']) {
    assert.deepEqual(mistakesOf(ONE(nameless), { env: BROKER }), [
      'service_name is not set: expected a name, here or as service.name in the resource attributes; set it with OTEL_SERVICE_NAME or --service-name',
    ]);
  }
});

test('all mistakes are reported at once: flags, variables, then the file by line', () => {
  const text = `file_format: "1.0"
propagator: {}
celery:
  taks_max: 1
  services:
    shop:
      broker_url: amqp://a:b@c:d
      worker_timeout: never
meter_provider:
  readers:
    - periodic:
        interval: often
        exporter: { otlp_grpc: { endpoint: "http://collector" } }
  views:
    - selector: { instrument_name: celery.task.snt }
      stream: {}
resource: { attributes: [ { name: a, value: 5 } ] }
`;
  const said = mistakesOf(text, {
    argv: ['--tasks-max=0', '--nonsense', '--otlp-timeout=5'],
    env: { LOG_LEVEL: 'loud' },
  });
  assert.deepEqual(
    said.map((line) => line.split(/( is .*?)?: expected/)[0]),
    [
      'command line (--nonsense)',
      'otlp_timeout (--otlp-timeout)',
      'log_level (LOG_LEVEL)',
      'tasks_max (--tasks-max)',
      'propagator (f:2)',
      'celery.taks_max (f:4)',
      'celery.services.shop.broker_url (f:7)',
      'celery.services.shop.worker_timeout (f:8)',
      'meter_provider.readers[0].periodic.interval (f:12)',
      'meter_provider.readers[0].periodic.exporter.otlp_grpc.endpoint (f:13)',
      'meter_provider.views[0].selector.instrument_name (f:15)',
      'resource.attributes[0].value (f:17)',
    ],
  );
});

test('no secret of a file is shown, however malformed it is', (t) => {
  const secret = 'hunter2';
  setVariables(t, { TEST_SECRET: secret });
  const text = `file_format: "1.0"
nonsense: ${secret}
celery:
  services:
    shop:
      broker_url: "amqp://me:\${TEST_SECRET}@rabbit:99999"
      broker_heartbeat: wrong
    a: { broker_url: "me:${secret}@rabbit" }
    b: { broker_url: { url: ${secret} } }
    c: { broker_url: [ "amqp://me:${secret}@a", "amqp://me:pa/${secret}@b" ], broker_use_ssl: ${secret} }
    d: { brker_url: "amqp://me:${secret}@a" }
    e: { broker_url: "amqp://a", broker_transport_options: { client_properties: ${secret} } }
    f: { broker_url: "redis://:${secret}@a/x", broker_transport_options: { sentinel_kwargs: ${secret} } }
    g: { broker_url: "sentinel://:${secret}@a", broker_transport_options: { sentinel_kwargs: { passwrd: ${secret}, password: [${secret}] } } }
    h: { broker_url: "redis://a", broker_transport_options: { sentinel_kwargs: { password: ${secret}, ssl_password: ${secret} } } }
meter_provider:
  readers:
    - periodic:
        exporter:
          otlp_http:
            endpoint: http://me:${secret}@c
            headers: [ { name: authorization, value: "${secret}\\n" }, { ${secret}: x }, ${secret} ]
            headers_list: ${secret}
            compression: { x: ${secret} }
`;
  const said = mistakesOf(text).join('\n');
  assert.ok(said.split('\n').length > 19, said);
  // But for the one that stands where a key of the standard does.
  assert.ok(!said.replace(`headers[1].${secret} (`, '').includes(secret), said);
});

test('record does not accept a file: its broker is from flags and variables', () => {
  const loaded = loadRecordConfig(sources('record', { env: { OTEL_CONFIG_FILE: '/nowhere/otel.yaml' } }));
  assert.ok(loaded.ok);
});

test('our own variables of one service are warned of with services in the file, which they would not reach', () => {
  const file = fileWith(
    `file_format: "1.0"\n${METER_PROVIDER}\ncelery: { services: { shop: { broker_url: "amqp://a" } } }\n`,
  );
  const env = {
    CELERY_OTEL_BROKER_PASSWORD_FILE: '/run/secret',
    CELERY_OTEL_WORKER_TIMEOUT: '5',
    CELERY_BROKER_URL: 'amqp://b',
  };
  const loaded = loadConfig({ ...sources('run', { argv: ['--config', file], env }), refuseUnknown: true });
  assert.deepEqual(loaded.ok && loaded.warnings, [
    'CELERY_OTEL_BROKER_PASSWORD_FILE has no effect with a file that has celery.services: set the key there',
  ]);
});
