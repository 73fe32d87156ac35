import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ExportRequest } from '../../src/otlp/export/export-request.ts';
import { createProvider, type ProviderOptions } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { observed } from './collect/observed.ts';
import { pointsOf } from './collect/reading.ts';
import { otlpSettings, type SettingsOverrides } from './settings.ts';

const RESOURCE = serviceResource('shop', { team: 'checkout' });

function providerOf(
  options: Partial<ProviderOptions> & { readonly streams?: SettingsOverrides['streams'] } = {},
) {
  const { streams = {}, ...others } = options;
  const failures: unknown[] = [];
  const provider = createProvider({
    name: 'shop',
    resource: RESOURCE,
    settings: otlpSettings('', { streams }).streams,
    onFailure: (reason) => failures.push(reason),
    ...others,
  });
  return {
    provider,
    failures,
    meter: provider.getMeter('celery-otel', '1.2.3'),
    /** As if all of it had arrived. */
    async exportAll(): Promise<readonly ResourceMetrics[]> {
      const requests = await provider.collect();
      const sent = requests.map((request) => request.data());
      for (const request of requests) request.acknowledge();
      return sent;
    },
  };
}

const metricsOf = (sent: readonly ResourceMetrics[]): readonly MetricData[] =>
  sent.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));

/** Name, attributes and total of each point. */
const summaryOf = (sent: readonly ResourceMetrics[]) =>
  metricsOf(sent).flatMap((metric) =>
    pointsOf(metric).map(({ attributes, total }) => [metric.descriptor.name, attributes, total]),
  );

const sizesOf = (requests: readonly ExportRequest<unknown>[]) => requests.map(({ items }) => items);

test('what is recorded before a collection is part of it, also if another preparation fails', async () => {
  const { provider, meter, failures, exportAll } = providerOf();
  const counter = meter.createCounter('sent');
  const reason = new Error('no view');
  provider.beforeCollect(() => Promise.reject(reason));
  provider.beforeCollect(async () => counter.add(2));
  assert.deepEqual(summaryOf(await exportAll()), [['sent', {}, 2]]);
  assert.deepEqual(summaryOf(await exportAll()), [['sent', {}, 4]]);
  assert.deepEqual(failures, [reason, reason]);
});

test('measurements are in a request, under their resource and scope', async () => {
  const { provider, meter, exportAll } = providerOf();
  meter.createCounter('sent', { unit: '{task}' }).add(5, { queue: 'q' });
  provider
    .getMeter('celery-otel', '1.2.3', { schemaUrl: 'https://example.com/1' })
    .createHistogram('runtime')
    .record(2);
  const [request, ...others] = await exportAll();
  assert.deepEqual(others, []);
  assert.equal(request?.resource, RESOURCE);
  assert.deepEqual(
    request.scopeMetrics.map(({ scope }) => scope),
    [
      { name: 'celery-otel', version: '1.2.3' },
      { name: 'celery-otel', version: '1.2.3', schemaUrl: 'https://example.com/1' },
    ],
  );
  assert.deepEqual(summaryOf([request]), [
    ['sent', { queue: 'q' }, 5],
    ['runtime', {}, 2],
  ]);
});

for (const temporality of ['cumulative', 'delta'] as const) {
  test(`an export without a response in time is sent again from its start (${temporality})`, async () => {
    let nowMs = 1000;
    const { provider, meter, exportAll } = providerOf({ streams: { temporality }, nowMs: () => nowMs });
    const counter = meter.createCounter('sent');
    counter.add(3);
    nowMs = 2000;
    const unanswered = (await provider.collect()).map((request) => request.data());
    counter.add(2);
    nowMs = 3000;
    const points = metricsOf([...unanswered, ...(await exportAll())]).flatMap(pointsOf);
    assert.deepEqual(
      points.map(({ startMs, endMs, total }) => [startMs, endMs, total]),
      [
        [1000, 2000, 3],
        [1000, 3000, 5],
      ],
      'cumulative: the second replaces the first; delta: the 3 count twice',
    );
  });
}

test('timestamps are by the clock: the start of the series and the collection', async () => {
  let nowMs = 1000;
  const { meter, exportAll } = providerOf({ nowMs: () => nowMs });
  const counter = meter.createCounter('sent');
  nowMs = 2000;
  counter.add(1);
  nowMs = 3000;
  const [metric] = metricsOf(await exportAll());
  assert.deepEqual(
    pointsOf(metric).map(({ startMs, endMs }) => [startMs, endMs]),
    [[2000, 3000]],
  );
});

test('without points there is no request', async () => {
  const { meter, provider } = providerOf();
  meter.createCounter('sent');
  assert.deepEqual(await provider.collect(), []);
});

test('a request has at most the given number of points', async () => {
  const { meter, provider } = providerOf({ pointsPerRequestMax: 3 });
  const counter = meter.createCounter('sent');
  for (let task = 0; task < 10; task += 1) counter.add(1, { task });
  assert.deepEqual(sizesOf(await provider.collect()), [3, 3, 3, 1]);
});

test('a request that arrived settles its own points: its retired series end, and the others stay', async () => {
  const { meter, provider, exportAll } = providerOf({ pointsPerRequestMax: 1 });
  const counter = meter.createCounter('sent');
  for (const worker of ['w1', 'w2', 'w3']) counter.add(1, { worker });
  provider.retire('worker', new Set(['w1', 'w2']));
  const [, second] = await provider.collect();
  second?.acknowledge();
  assert.deepEqual(summaryOf(await exportAll()), [
    ['sent', { worker: 'w1' }, 1],
    ['sent', { worker: 'w3' }, 1],
  ]);
  assert.deepEqual(summaryOf(await exportAll()), [['sent', { worker: 'w3' }, 1]]);
  assert.deepEqual(provider.tally(), { live: 1, retired: 2, unmarked: 0, overflowed: 0, refused: 0 });
});

test('a returning worker goes on, though another request of its provider is always refused', async () => {
  let nowMs = 1000;
  const { meter, provider } = providerOf({ pointsPerRequestMax: 1, nowMs: () => nowMs });
  const counter = meter.createCounter('sent');
  counter.add(1, { worker: 'refused' });
  counter.add(1, { worker: 'w1' });
  provider.retire('worker', new Set(['w1']));
  const starts: (number | undefined)[] = [];
  for (let interval = 0; interval < 4; interval += 1) {
    nowMs += 1000;
    for (const request of await provider.collect()) {
      const points = metricsOf([request.data()]).flatMap(pointsOf);
      const own = points.find(({ attributes }) => attributes['worker'] === 'w1');
      if (own === undefined) continue;
      starts.push(own.startMs);
      request.acknowledge();
    }
    nowMs += 500;
    counter.add(1, { worker: 'w1' });
  }
  assert.deepEqual(starts, [1000, 2500, 2500, 2500]);
});

test('gauges are combined by the name of their instrument; by default the highest value is taken', async () => {
  const streams: SettingsOverrides['streams'] = {
    views: [{ selector: { instrumentName: '*' }, stream: { attributeKeys: { excluded: ['worker'] } } }],
  };
  const both = [
    providerOf({ streams }),
    providerOf({ streams, combination: (name) => (name === 'length' ? 'sum' : 'max') }),
  ];
  for (const { meter } of both) {
    for (const name of ['length', 'age']) {
      observed(meter, name, (observe) => {
        for (const [worker, value] of [4, 2].entries()) observe(value, { worker });
      });
    }
  }
  const totals = await Promise.all(
    both.map(async ({ exportAll }) => summaryOf(await exportAll()).map((point) => point[2])),
  );
  assert.deepEqual(totals, [
    [4, 4],
    [6, 4],
  ]);
});

test('an observable callback that throws is reported, and takes nothing from the others', async () => {
  const { meter, exportAll, failures } = providerOf();
  const failure = new Error('no gauges today');
  observed(meter, 'broken', () => {
    throw failure;
  });
  observed(meter, 'fine', (observe) => observe(1));
  assert.deepEqual(summaryOf(await exportAll()), [['fine', {}, 1]]);
  assert.deepEqual(failures, [failure]);
});
