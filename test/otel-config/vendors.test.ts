/**
 * The example configuration files: each loads unchanged, refuses to run without its secrets, and sends what its backend
 * requires. The backends are receivers on loopback; the files are not changed for them.
 */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { decodePoints, type Point, total } from '../../examples/demo/otlp-points.ts';
import { createBridge } from '../../src/bridge/bridge.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load-config.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { type HttpRequest, startHttpReceiver } from '../otlp/send/http-receiver.ts';
import { eventCounts, readShopReport } from '../real/shop-report.ts';

const FOLDER = resolve(import.meta.dirname, '../../otel-config');
const DEMO = resolve(import.meta.dirname, '../../examples/demo');
/** Those of the Collector are not for celery-otel. */
const FILES = globSync('*.yaml', { cwd: FOLDER }).filter(
  (file) => !/^collector\.|-(?:names|conventions)\./u.test(file),
);

interface Vendor {
  readonly file: string;
  readonly endpoint: { readonly variable: string; readonly byDefault: string };
  readonly headers: Readonly<Record<string, string>>;
  /** Task metrics that keep the worker by the file's views. */
  readonly workerOf: (point: Point) => boolean;
}

const isOfTask = ({ metric }: Point): boolean => metric.startsWith('celery.task.');

const VENDORS: readonly Vendor[] = [
  {
    file: 'honeycomb.yaml',
    endpoint: { variable: 'HONEYCOMB_ENDPOINT', byDefault: 'https://api.honeycomb.io/v1/metrics' },
    headers: {
      'x-honeycomb-team': 'honeycomb-secret',
      'x-honeycomb-dataset': 'celery-metrics',
    },
    workerOf: ({ kind }) => kind === 'sum',
  },
  {
    file: 'datadog.yaml',
    endpoint: { variable: 'DATADOG_OTLP_ENDPOINT', byDefault: 'https://otlp.datadoghq.com/v1/metrics' },
    headers: {
      'dd-api-key': 'datadog-secret',
      'dd-otel-metric-config': JSON.stringify({
        resource_attributes_as_tags: true,
        histograms: { mode: 'distributions' },
      }),
    },
    workerOf: () => false,
  },
];

/** A value for each required variable. */
const REQUIRED: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map([
  [
    'celery-otel.yaml',
    {
      SHOP_BROKER_URL: 'amqp://rabbit',
      BILLING_BROKER_URL: 'amqp://rabbit',
      STOCK_BROKER_URL: 'sentinel://redis',
      STOCK_SENTINEL_PASSWORD: 'stock-secret',
    },
  ],
  ['datadog.yaml', { CELERY_BROKER_URL: 'amqp://rabbit', DD_API_KEY: 'datadog-secret' }],
  ['honeycomb.yaml', { CELERY_BROKER_URL: 'amqp://rabbit', HONEYCOMB_API_KEY: 'honeycomb-secret' }],
]);

const required = (file: string): Readonly<Record<string, string>> => REQUIRED.get(file) ?? {};

/**
 * Loads a file with these variables only, of those that it takes: they are read from the environment of this process.
 */
function load(file: string, env: Readonly<Record<string, string>>): LoadedConfig {
  const previous = { ...process.env };
  const references = readFileSync(join(FOLDER, file), 'utf8').matchAll(/\$\{(?:env:)?(\w+)/g);
  for (const [, name = ''] of references) delete process.env[name];
  Object.assign(process.env, env);
  try {
    return loadConfig({ argv: ['--config', join(FOLDER, file)], env });
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, previous);
  }
}

for (const file of FILES) {
  describe(`otel-config/${file}`, () => {
    test('it has no mistakes once its variables are set', () => {
      const loaded = load(file, required(file));
      assert.ok(loaded.ok, JSON.stringify(loaded));
    });

    for (const name of Object.keys(required(file))) {
      for (const [what, value] of [
        ['without', undefined],
        ['with an empty', ''],
      ] as const) {
        test(`it is refused ${what} ${name}, and for nothing else`, () => {
          const { [name]: _, ...others } = required(file);
          const loaded = load(file, value === undefined ? others : { ...others, [name]: value });
          assert.ok(!loaded.ok, `it was loaded, and ${name} would be sent empty`);
          assert.notDeepEqual(loaded.mistakes, []);
          for (const mistake of loaded.mistakes) {
            assert.match(
              JSON.stringify(mistake),
              new RegExp(`\\b${name}\\b`),
              'it does not say which variable',
            );
          }
        });
      }
    }
  });
}

test('every file and every vendor is tested here', () => {
  assert.deepEqual(
    FILES.filter((file) => !REQUIRED.has(file)),
    [],
  );
  assert.deepEqual(
    VENDORS.filter(({ file }) => !FILES.includes(file)),
    [],
  );
});

/** What the file sends for the demo's recording, with only the broker and the backend replaced. */
async function play(vendor: Vendor): Promise<readonly HttpRequest[]> {
  const receiver = await startHttpReceiver();
  const loaded = load(vendor.file, {
    ...required(vendor.file),
    CELERY_BROKER_URL: `recording:${join(DEMO, 'shop.ndjson')}?speed=max`,
    [vendor.endpoint.variable]: `http://127.0.0.1:${receiver.port}/v1/metrics`,
  });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const bridge = createBridge(loaded.config);
  bridge.start();
  assert.equal(await bridge.finished, 'finished');
  const { flushed } = await bridge.stop(DEADLINE_MS);
  assert.ok(flushed);
  await receiver.stop();
  return receiver.requests;
}

function succeededByTask(): Readonly<Record<string, number>> {
  const report = readShopReport(JSON.parse(readFileSync(join(DEMO, 'shop.celery.json'), 'utf8')));
  return Object.fromEntries(
    Object.entries(eventCounts(report)).map(([task, { succeeded }]) => [task, succeeded]),
  );
}

for (const vendor of VENDORS) {
  describe(`metrics sent with otel-config/${vendor.file}`, () => {
    let requests: readonly HttpRequest[];
    let points: readonly Point[];

    before(async () => {
      requests = await play(vendor);
      points = requests.flatMap(({ body }) => decodePoints(body));
    });

    test('they go to the vendor unless a variable overrides it', () => {
      const loaded = load(vendor.file, required(vendor.file));
      assert.ok(loaded.ok, JSON.stringify(loaded));
      assert.equal(loaded.config.otlp.exporter.endpoint, vendor.endpoint.byDefault);
    });

    test('requests are in the vendor’s format', () => {
      assert.notDeepEqual(requests, []);
      for (const { method, path, headers } of requests) {
        assert.deepEqual([method, path], ['POST', '/v1/metrics']);
        assert.equal(headers['content-type'], 'application/x-protobuf');
        assert.equal(headers['content-encoding'], 'gzip');
        for (const [name, value] of Object.entries(vendor.headers)) assert.equal(headers[name], value);
      }
    });

    test('counters have delta temporality, histograms are exponential, and no metric is missing', () => {
      assert.deepEqual(
        new Set(points.map(({ kind }) => kind)),
        new Set(['sum', 'gauge', 'exponentialHistogram']),
      );
      const isTotal = ({ kind, temporality }: Point): boolean => kind !== 'gauge' && temporality !== 'delta';
      // UpDownCounters are cumulative with any preference.
      const goesUpAndDown = ({ kind, monotonic }: Point): boolean => kind === 'sum' && !monotonic;
      assert.deepEqual(
        points.filter((point) => isTotal(point) && !goesUpAndDown(point)),
        [],
      );
      for (const [task, succeeded] of Object.entries(succeededByTask())) {
        const attributes = { 'celery.task.name': task };
        assert.equal(total(points, 'celery.task.succeeded', attributes), succeeded, task);
        assert.ok(total(points, 'celery.task.runtime', attributes) >= succeeded, task);
      }
    });

    test('tasks have the worker attribute if the vendor’s prices allow it, and workers always', () => {
      const hasWorker = ({ attributes }: Point): boolean => attributes['celery.worker.name'] !== undefined;
      const ofTasks = points.filter((point) => isOfTask(point) && hasWorker(point));
      assert.deepEqual(
        ofTasks.filter((point) => !vendor.workerOf(point)),
        [],
      );
      assert.equal(
        ofTasks.length > 0,
        points.some((point) => isOfTask(point) && vendor.workerOf(point)),
      );
      assert.ok(points.some(({ metric }) => metric === 'celery.worker.up'));
      assert.deepEqual(
        points.filter((point) => point.metric.startsWith('celery.worker.') && !hasWorker(point)),
        [],
      );
    });

    test('all points belong to the service in the file or the bridge, and to their environment', () => {
      const resources = points.map(({ resource }) => resource);
      assert.deepEqual(
        new Set(resources.map((resource) => resource['service.name'])),
        new Set(['shop', 'celery-otel']),
      );
      assert.deepEqual(
        new Set(resources.map((resource) => resource['deployment.environment.name'])),
        new Set(['production']),
      );
    });
  });
}
