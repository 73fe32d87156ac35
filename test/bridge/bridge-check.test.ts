/** The settings of `createBridge`: each is checked, and all mistakes are reported at once by path. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBridge } from '../../src/bridge/bridge.ts';
import type { BridgeOptions } from '../../src/bridge/bridge-options.ts';
import { CeleryOtelError } from '../../src/text/errors.ts';
import { configOutside } from '../config/signal-files.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { serviceAt } from '../service/recorded-service.ts';

/** Options that set every possible number. */
function options(): BridgeOptions {
  const otlp = otlpSettings('http://127.0.0.1:1');
  const histogram = { recordMinMax: true } as const;
  const views = [
    {
      selector: { instrumentName: 'celery.task.runtime' },
      stream: {
        cardinalityLimit: 5,
        aggregation: { ...histogram, kind: 'explicit_bucket_histogram', boundaries: [-1, 2.5] },
      },
    },
    {
      selector: { instrumentName: 'celery.task.wait_time' },
      stream: {
        aggregation: { ...histogram, kind: 'base2_exponential_bucket_histogram', maxScale: -1, maxSize: 2 },
      },
    },
  ] as const;
  return {
    services: [
      serviceAt('shop', 'amqp://a?heartbeat=5;amqps://b'),
      serviceAt('old', 'recording:x?speed=2'),
      serviceAt('stock', 'redis://a/3;sentinel://b;redis+socket:///c', { CELERY_MASTER_NAME: 'main' }),
    ],
    otlp: {
      ...otlp,
      streams: { ...otlp.streams, views },
      schedule: { ...otlp.schedule, pointsPerRequestMax: 100 },
    },
    ...signalOptions(),
    self: { enabled: false, attributes: {} },
  };
}

/** Traces and logs with each number, and each kind of sampler. */
function signalOptions(): Pick<BridgeOptions, 'traces' | 'logs'> {
  const { traces, logs } = configOutside({
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '100',
  });
  assert.ok(traces !== undefined && logs !== undefined);
  const share = () => ({ kind: 'probability', ratio: 0.5 }) as const;
  const root = { kind: 'parent_threshold', root: share() } as const;
  const rules = [
    { sampler: { kind: 'parent_based', root, remoteSampled: share(), remoteNotSampled: share() } },
  ] as const;
  const sampler = { kind: 'rule_based', rules } as const;
  return { traces: { ...traces, settings: { ...traces.settings, sampler } }, logs };
}

const OPTIONS = options();

/** Options with other values at these paths. */
function withValues(values: Readonly<Record<string, unknown>>): BridgeOptions {
  const changed = structuredClone(OPTIONS);
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split(/[.[\]]+/u).filter((key) => key !== '');
    const last = keys.pop() ?? '';
    const holder = keys.reduce<unknown>((node, key) => {
      assert.ok(typeof node === 'object' && node !== null, path);
      return Reflect.get(node, key);
    }, changed);
    assert.ok(typeof holder === 'object' && holder !== null && Reflect.set(holder, last, value), path);
  }
  return changed;
}

function refusal(of: BridgeOptions): CeleryOtelError {
  try {
    createBridge(of);
  } catch (error) {
    assert.ok(error instanceof CeleryOtelError, String(error));
    return error;
  }
  throw new Error('nothing was refused');
}

function numbersIn(value: unknown, path = ''): readonly string[] {
  if (typeof value === 'number') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    numbersIn(item, Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`),
  );
}

/** Numbers that may be 0, negative or infinite; all others must be positive. */
const ALSO: readonly [path: RegExp, values: readonly number[]][] = [
  [/\.heartbeatS$/u, [0]],
  [/\.db$/u, [0]],
  [/\.prioritySteps\[0\]$/u, [0]],
  [/\.(ratio|holdMs|scheduleDelayMs|attributeValueLengthMax)$/u, [0]],
  [/\.speed$/u, [Number.POSITIVE_INFINITY]],
  [/\.maxScale$/u, [0, -1]],
  [/\.boundaries\[\d\]$/u, [0, -1]],
];

test('every number that is not finite or not positive is refused by its path', () => {
  createBridge(OPTIONS);
  const paths = numbersIn(OPTIONS);
  assert.ok(paths.length >= 55, `${paths.length}`);
  for (const path of paths) {
    const also = ALSO.flatMap(([end, values]) => (end.test(path) ? values : []));
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -1, 0]) {
      const changed = withValues({ [path]: value });
      if (also.includes(value)) createBridge(changed);
      else {
        const { code, message, hint } = refusal(changed);
        assert.equal(code, 'CONFIG_INVALID');
        assert.ok(message.startsWith(`${path} is ${value}: expected `), message);
        assert.equal(hint, 'Correct the options of createBridge.');
      }
    }
  }
});

test('an address with an unknown scheme is refused by its path, beside other mistakes', () => {
  const { message } = refusal(
    withValues({ 'services[1].broker.urls[0].scheme': 'kafka', 'services[0].cluster.tasksMax': 0 }),
  );
  assert.match(
    message,
    /services\[1\]\.broker\.urls\[0\]\.scheme is of type string: expected one of amqp, /u,
  );
  assert.match(message, /services\[0\]\.cluster\.tasksMax is 0: /u);
});

test('every setting must fit the format of its option', () => {
  const refused: readonly [path: string, value: unknown, expected: string][] = [
    ['services[0].cluster.tasksMax', 1.5, '1.5: expected a whole number from 1 to 10000000'],
    ['services[0].broker.redis.socketTimeoutMs', 3_600_001, '3600001: expected milliseconds, above 0 and'],
    [
      'services[2].broker.redis.healthCheckIntervalMs',
      3_600_001,
      '3600001: expected milliseconds, above 0 and',
    ],
    [
      'services[0].polls.redis.prioritySteps',
      undefined,
      'of type undefined: expected whole numbers from 0 to 255, ascending',
    ],
    [
      'services[0].polls.redis.prioritySteps',
      [],
      'of type object: expected whole numbers from 0 to 255, ascending',
    ],
    ['services[0].polls.redis.prioritySteps[1]', 0, '0: expected whole numbers from 0 to 255, ascending'],
    ['services[0].polls.redis.prioritySteps[1]', 256, '256: expected whole numbers from 0 to 255, ascending'],
    ['services[0].polls.intervalMs', 3_600_001, '3600001: expected milliseconds, above 0 and'],
    ['services[2].broker.urls[0].db', 1.5, '1.5: expected a whole number from 0 to 999999'],
    ['services[2].broker.urls[0].at.port', 65_536, '65536: expected a whole number from 1 to 65535'],
    ['services[2].broker.urls[1].at[0].port', 65_536, '65536: expected a whole number from 1 to 65535'],
    ['services[0].broker.urls[0].port', 65_536, '65536: expected a whole number from 1 to 65535'],
    ['otlp.streams.limits.counter', 1, '1: expected a whole number from 2 to 1000000'],
    [
      'otlp.schedule.intervalMs',
      2 ** 31,
      '2147483648: expected milliseconds, a whole number from 1 to 86400000',
    ],
    [
      'traces.settings.slowAfterMs',
      2_592_000_001,
      '2592000001: expected milliseconds, above 0 and at most 2592000000',
    ],
    [
      'traces.settings.sampler.rules[0].sampler.remoteSampled.ratio',
      1.1,
      '1.1: expected a number from 0 to 1',
    ],
    ['traces.batch.maxBatchSize', 16_385, '16385: expected at most maxQueueSize (16384)'],
    ['logs.settings.minimumSeverity', 25, '25: expected a whole number from 1 to 24'],
    ['logs.exporter.timeoutMs', 1.5, '1.5: expected milliseconds, a whole number from 1 to 86400000'],
    ['otlp.schedule.intervalMs', '5000', 'of type string: expected milliseconds'],
    ['otlp.exporter.compression', 'zip', '"zip": expected one of gzip, none'],
    ['services[0].broker.failoverStrategy', 1, '1: expected one of round-robin, shuffle'],
    ['services[0].control.enableEvents', 'yes', 'of type string: expected true or false'],
    ['logs.settings.workers', undefined, 'of type undefined: expected true or false'],
    [
      'services[1].cluster.windowMs',
      undefined,
      'of type undefined: expected milliseconds, above 0 and at most 3600000',
    ],
  ];
  for (const [path, value, expected] of refused) {
    const { message } = refusal(withValues({ [path]: value }));
    assert.ok(message.startsWith(`${path} is ${expected}`), message);
  }
  createBridge(
    withValues({
      'services[0].cluster.seriesRetentionMs': 30 * 86_400_000,
      'services[0].cluster.windowMs': 0.5,
      'otlp.schedule.pointsPerRequestMax': undefined,
      'traces.settings.attributeValueLengthMax': undefined,
      'traces.settings.slowAfterMs': undefined,
      'services[0].broker.amqp.loginMethod': undefined,
      'otlp.streams.markEnded': undefined,
      'otlp.streams.views[0].stream.cardinalityLimit': undefined,
      'otlp.streams.views[0].stream.aggregation.boundaries': undefined,
    }),
  );
});

test('all mistakes are reported at once', () => {
  const { message } = refusal(
    withValues({
      'services[1].name': 'shop',
      'services[1].cluster.heldMax': 0,
      'otlp.exporter.timeoutMs': Number.NaN,
    }),
  );
  assert.deepEqual(message.split('; '), [
    'two services are named "shop"',
    'services[1].cluster.heldMax is 0: expected a whole number from 1 to 10000000',
    'otlp.exporter.timeoutMs is NaN: expected milliseconds, a whole number from 1 to 86400000',
  ]);
});

test('sentinels need the name of their master', () => {
  const { message } = refusal(withValues({ 'services[2].broker.redis.masterName': '' }));
  assert.equal(message, 'the service "stock" has sentinels, but no redis.masterName');
});
