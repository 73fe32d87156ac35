import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { loadConfig, loadRecordConfig } from '../../src/config/load-config.ts';
import { describeMistake, type Mistake } from '../../src/config/mistake.ts';
import { flagOf, optionRows } from '../../src/config/options.ts';
import type { OptionSources } from '../../src/config/read-options.ts';
import { METRIC_NAMES, METRICS } from '../../src/meter/catalog.ts';
import { EXPORTER_DEFAULTS } from './exporter-defaults.ts';
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

test('a broker and a name are enough', () => {
  assert.deepEqual(configOf({}), {
    services: [
      {
        name: 'shop',
        attributes: {},
        broker: {
          urls: [
            {
              scheme: 'amqp',
              host: 'rabbit',
              port: 5672,
              username: 'guest',
              password: 'guest',
              vhost: '/',
              heartbeatS: undefined,
              tls: undefined,
              label: 'amqp://guest:***@rabbit:5672//',
            },
          ],
          passwordFile: undefined,
          failoverStrategy: 'round-robin',
          connectTimeoutMs: 5000,
          eventExchange: 'celeryev',
          amqp: {
            eventQueuePrefix: 'celeryev',
            eventQueueBytesMax: 67_108_864,
            heartbeatS: 30,
            loginMethod: 'PLAIN',
            managementUrl: undefined,
          },
          redis: {
            masterName: '',
            sentinel: { username: undefined, password: undefined, tls: undefined },
            globalKeyprefix: '',
            fanoutPrefix: '/{db}.',
            fanoutPatterns: true,
            clientName: 'celery-otel',
            socketKeepalive: true,
            healthCheckIntervalMs: 25_000,
            socketTimeoutMs: 5000,
          },
        },
        taskDefaultQueue: 'celery',
        staleAfter: undefined,
        control: {
          commands: 'auto',
          enableEvents: false,
          timeoutMs: 1000,
          namespace: 'celery',
        },
        polls: {
          intervalMs: 15_000,
          initialDelayMs: 1000,
          queues: [],
          parkedQueues: [],
          redis: {
            separator: undefined,
            prioritySteps: [0, 3, 6, 9],
            unackedKey: 'unacked',
            unackedIndexKey: 'unacked_index',
            visibilityTimeoutMs: 3_600_000,
          },
        },
        cluster: {
          tasksMax: 100_000,
          workersMax: 10_000,
          workerTimeoutMs: 30_000,
          lostTimeoutMs: 120_000,
          seriesRetentionMs: 600_000,
          windowMs: 1000,
          heldMax: 100_000,
          skewPairsMax: 100,
        },
        // The load of hosts is what a node's own agent tells better, for those who want it here too.
        choice: {
          metrics: new Set(METRIC_NAMES.filter((name) => METRICS[name].enabled)),
          optIns: new Set(),
        },
      },
    ],
    otlp: {
      exporter: {
        protocol: 'grpc',
        endpoint: 'http://localhost:4317',
        ...EXPORTER_DEFAULTS,
      },
      streams: {
        temporality: 'cumulative',
        histograms: 'explicit_bucket_histogram',
        views: [],
        zeroFirstMs: 60_000,
        markEnded: true,
        limits: { counter: 2000, histogram: 2000, gauge: 2000 },
      },
      schedule: { intervalMs: 60_000, timeoutMs: 30_000, pointsPerRequestMax: undefined },
    },
    exemplarFilter: 'trace_based',
    self: { enabled: true, attributes: {} },
    logLevel: 'info',
  } satisfies Config);
});

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

test('every option is in the settings of its room, in its unit', () => {
  const config = configOf({
    argv: [
      ...[
        '--broker-failover-strategy',
        'shuffle',
        '--broker-heartbeat',
        '0',
        '--broker-connection-timeout',
        '1.5',
      ],
      ...[
        '--event-exchange',
        'e',
        '--event-queue-prefix',
        'q',
        '--worker-timeout',
        '0.25',
        '--lost-timeout',
        '0.5',
        '--series-retention',
        '2',
        '--zero-first',
        '1.5',
        '--mark-ended=false',
      ],
      ...[
        '--tasks-max',
        '3',
        '--workers-max',
        '4',
        '--resource-attributes',
        'a=b',
        '--otlp-endpoint',
        'https://c',
      ],
      ...[
        '--otlp-protocol',
        'http/json',
        '--otlp-headers',
        'k=v',
        '--otlp-insecure',
        '--otlp-certificate',
        FILES.certificate,
      ],
      ...[
        '--otlp-client-certificate',
        FILES.certificate,
        '--otlp-client-key',
        FILES.key,
        '--otlp-compression',
        'gzip',
      ],
      ...['--otlp-timeout', '5', '--otlp-temporality-preference', 'delta', '--metric-export-interval', '7'],
      ...['--metric-export-timeout', '6', '--log-level', 'debug'],
      ...['--reordering-window', '0.5', '--reordering-events-max', '8', '--skew-pairs-max', '9'],
      ...['--event-queue-bytes-max', '1048576'],
      ...['--control-exchange', 'c', '--task-default-queue', 't', '--self-telemetry=false'],
      ...['--otlp-default-histogram-aggregation', 'base2_exponential_bucket_histogram'],
      ...['--disable-metrics', '*', '--enable-metrics', 'celery.task.runtime'],
      ...['--enable-attributes', 'celery.task.prefetch_time/celery.worker.name'],
      ...['--broker-url', 'amqp://a;sentinel://b', '--master-name', 'm', '--sentinel-username', 'u'],
      ...['--sentinel-password', 'p', '--global-keyprefix', 'k', '--fanout-prefix', 'f'],
      ...['--fanout-patterns=false', '--client-name', 'n', '--socket-keepalive=false'],
      ...['--health-check-interval', '0.5', '--socket-timeout', '1.5'],
      ...['--sep', ':', '--priority-steps', '0,5', '--unacked-key', 'ua', '--unacked-index-key', 'ui'],
      ...[
        '--visibility-timeout',
        '60.5',
        '--queues',
        'mail,video',
        '--parked-queues',
        '*.dlq',
        '--collection-interval',
        '2.5',
      ],
      ...['--management-url', 'http://r:15672'],
      ...['--initial-delay', '0.25', '--timeout', '3.5', '--control-commands', 'stats', '--enable-events'],
    ],
  });
  const { urls, ...broker } = config.services[0].broker;
  assert.equal(urls.length, 2);
  assert.deepEqual(
    { ...config, services: [{ ...config.services[0], broker }] },
    {
      services: [
        {
          name: 'shop',
          attributes: { a: 'b' },
          broker: {
            passwordFile: undefined,
            failoverStrategy: 'shuffle',
            connectTimeoutMs: 1500,
            eventExchange: 'e',
            amqp: {
              eventQueuePrefix: 'q',
              eventQueueBytesMax: 1_048_576,
              heartbeatS: 0,
              loginMethod: 'PLAIN',
              managementUrl: {
                ...{ isSecure: false, host: 'r', port: 15_672, prefix: '', login: undefined },
                label: 'http://r:15672',
              },
            },
            redis: {
              masterName: 'm',
              sentinel: { username: 'u', password: 'p', tls: undefined },
              globalKeyprefix: 'k',
              fanoutPrefix: 'f',
              fanoutPatterns: false,
              clientName: 'n',
              socketKeepalive: false,
              healthCheckIntervalMs: 500,
              socketTimeoutMs: 1500,
            },
          },
          taskDefaultQueue: 't',
          staleAfter: undefined,
          control: { commands: ['stats'], enableEvents: true, timeoutMs: 3500, namespace: 'c' },
          polls: {
            intervalMs: 2500,
            initialDelayMs: 250,
            queues: ['mail', 'video'],
            parkedQueues: ['*.dlq'],
            redis: {
              separator: ':',
              prioritySteps: [0, 5],
              unackedKey: 'ua',
              unackedIndexKey: 'ui',
              visibilityTimeoutMs: 60_500,
            },
          },
          cluster: {
            tasksMax: 3,
            workersMax: 4,
            workerTimeoutMs: 250,
            lostTimeoutMs: 500,
            seriesRetentionMs: 2000,
            windowMs: 500,
            heldMax: 8,
            skewPairsMax: 9,
          },
          choice: {
            metrics: new Set(['celery.task.runtime']),
            optIns: new Set(['celery.task.prefetch_time/celery.worker.name']),
          },
        },
      ],
      otlp: {
        exporter: {
          protocol: 'http/json',
          endpoint: 'https://c/',
          headers: { k: 'v' },
          certificateFile: FILES.certificate,
          clientCertificateFile: FILES.certificate,
          clientKeyFile: FILES.key,
          insecure: true,
          compression: 'gzip',
          timeoutMs: 5,
        },
        streams: {
          temporality: 'delta',
          histograms: 'base2_exponential_bucket_histogram',
          views: [],
          zeroFirstMs: 1500,
          markEnded: false,
          limits: { counter: 2000, histogram: 2000, gauge: 2000 },
        },
        schedule: { intervalMs: 7, timeoutMs: 6, pointsPerRequestMax: undefined },
      },
      exemplarFilter: 'trace_based',
      self: { enabled: false, attributes: {} },
      logLevel: 'debug',
    },
  );
});

test('a flag wins over the variable for metrics, that over the one for all signals, that over the default', () => {
  const general = { OTEL_EXPORTER_OTLP_TIMEOUT: '1' };
  const metrics = { ...general, OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '2' };
  const timeout = (more: Partial<OptionSources>) => configOf(more).otlp.exporter.timeoutMs;
  assert.equal(timeout({}), 10_000);
  assert.equal(timeout({ env: general }), 1);
  assert.equal(timeout({ env: metrics }), 2);
  assert.equal(timeout({ env: metrics, argv: ['--otlp-timeout', '3'] }), 3);
});

test('an overridden value is not checked', () => {
  const env = { OTEL_EXPORTER_OTLP_TIMEOUT: 'soon', OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: '2' };
  assert.equal(configOf({ env }).otlp.exporter.timeoutMs, 2);
});

test('the endpoint depends on the protocol, and over HTTP on the variable that sets it', () => {
  const http = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' };
  const general = { ...http, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://all:4318/otlp/' };
  const metrics = { ...general, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://metrics:4318' };
  const endpoint = (more: Partial<OptionSources>) => configOf(more).otlp.exporter.endpoint;
  assert.equal(endpoint({}), 'http://localhost:4317');
  assert.equal(endpoint({ env: http }), 'http://localhost:4318/v1/metrics');
  assert.equal(endpoint({ env: general }), 'http://all:4318/otlp/v1/metrics');
  assert.equal(endpoint({ env: metrics }), 'http://metrics:4318/');
  assert.equal(endpoint({ env: metrics, argv: ['--otlp-endpoint=https://flag/x'] }), 'https://flag/x');
  assert.equal(endpoint({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://all:4317' } }), 'http://all:4317');
  assert.deepEqual(mistakesOf({ env: { ...http, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'collector:4317' } }), [
    {
      path: 'otlp_endpoint',
      source: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
      value: '"collector:4317"',
      expected: 'http://host[:port]/path or https://host[:port]/path',
    },
  ]);
  // What goes wrong with the one is not blamed on the other.
  assert.deepEqual(
    mistakesOf({ env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'http', OTEL_EXPORTER_OTLP_ENDPOINT: 'anything' } }).map(
      ({ path }) => path,
    ),
    ['otlp_protocol'],
  );
});

test('headers of all sources are merged, and the preferred source wins by key', () => {
  const config = configOf({
    env: { OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=1,c=1', OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'b=2,c=2' },
    argv: ['--otlp-headers', 'C=3'],
  });
  assert.deepEqual(config.otlp.exporter.headers, { a: '1', b: '2', c: '3' });
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

test('an empty service.name among the attributes is ignored', () => {
  const mistakes = mistakesOf({ env: { OTEL_SERVICE_NAME: '', OTEL_RESOURCE_ATTRIBUTES: 'service.name=' } });
  assert.deepEqual(
    mistakes.map(({ path }) => path),
    ['service_name'],
  );
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

test('an option for another kind of broker is a mistake, and so is a sentinel without the name of its master', () => {
  const cases: [env: Record<string, string>, mistakes: readonly string[], argv?: readonly string[]][] = [
    [
      { CELERY_BROKER_URL: 'redis://a' },
      [
        'broker_heartbeat (--broker-heartbeat) is "5": expected no AMQP option: broker_url has no AMQP address',
        'master_name (--master-name) is "m": expected no option of sentinels: broker_url has no sentinel:// address',
      ],
      ['--broker-heartbeat=5', '--master-name=m'],
    ],
    [
      {},
      [
        'sentinel_password (--sentinel-password) is "***": expected no option of sentinels: broker_url has no sentinel:// address',
        'fanout_prefix (--fanout-prefix) is "x": expected no Redis option: broker_url has no Redis address',
      ],
      ['--fanout-prefix=x', '--sentinel-password=hunter2'],
    ],
    [
      { CELERY_BROKER_URL: 'sentinel://a;sentinel://b' },
      [
        'master_name is not set: expected text on one line, at most 255 bytes, because broker_url has sentinel://; set it with CELERY_MASTER_NAME or --master-name',
      ],
    ],
    // One mistake is enough.
    [
      { CELERY_BROKER_URL: 'redis://a/x', CELERY_BROKER_HEARTBEAT: '5', CELERY_FANOUT_PREFIX: 'x' },
      ['broker_url'],
    ],
  ];
  for (const [env, expected, argv = []] of cases) {
    const mistakes = mistakesOf({ env, argv });
    const said =
      expected[0] === 'broker_url' ? mistakes.map(({ path }) => path) : mistakes.map(describeMistake);
    assert.deepEqual(said, expected);
  }
  const loaded = loadRecordConfig(
    sources('record', {
      env: {
        CELERY_BROKER_URL: 'sentinel://a',
        CELERY_MASTER_NAME: 'm',
        CELERY_SENTINEL_USERNAME: 'u',
        CELERY_SENTINEL_PASSWORD: 'hunter2',
      },
    }),
  );
  assert.ok(loaded.ok);
  assert.deepEqual(loaded.config.broker.redis.sentinel, {
    username: 'u',
    password: 'hunter2',
    tls: undefined,
  });
});

test('all mistakes are reported at once, each with path, source, value and expectation', () => {
  const mistakes = mistakesOf({
    argv: ['--tasks-max', '12abc', '--log-levl=debug', '--out', 'x', '--otlp-timeout'],
    env: {
      CELERY_BROKER_URL: 'valkey://rabbit',
      OTEL_SERVICE_NAME: '',
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http',
    },
  });
  assert.deepEqual(mistakes.map(describeMistake), [
    'command line (--log-levl): expected a flag of run (did you mean --log-level?)',
    'command line (--out): expected a flag of run; this one belongs to record',
    'otlp_timeout (--otlp-timeout): expected a value: milliseconds, a whole number from 1 to 86400000',
    'broker_url (CELERY_BROKER_URL) is "valkey://***": expected a broker address ' +
      '(valkey:// is not supported; write redis://)',
    'tasks_max (--tasks-max) is "12abc": expected a whole number from 1 to 10000000',
    'otlp_protocol (OTEL_EXPORTER_OTLP_METRICS_PROTOCOL) is "http": expected one of grpc, http/protobuf, http/json',
    'service_name is not set: expected a name, here or as service.name in the resource attributes; set it with OTEL_SERVICE_NAME or --service-name',
  ]);
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
