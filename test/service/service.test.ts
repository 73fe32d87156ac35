import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createNoopMeter } from '@opentelemetry/api';
import type { ReadEvent } from '../../src/meter/self-recorder.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { type MetricsSink, openService, type ServiceOptions } from '../../src/service/service.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { content, field, tagged } from '../broker/amqp/frames.ts';
import { startScriptedBroker } from '../broker/amqp/scripted-broker.ts';
import { BEGUN_MS, fileOf, HEADER } from '../broker/recording/replay.ts';
import { SETTINGS } from '../cluster/events.ts';
import { event } from '../e2e/publish.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { plainSdk } from '../plain-sdk.ts';
import { lineOfEvents, serviceAt } from './recorded-service.ts';

/** A recording of these events, each with its time in ms, plain or compressed with zstd. */
function recording(
  t: TestContext,
  events: readonly (readonly [fields: unknown, afterMs: number])[],
  compression = '',
): string {
  const lines = events.map(([fields, afterMs]) => lineOfEvents(afterMs, JSON.stringify(fields), compression));
  return `recording:${fileOf(t, HEADER, ...lines)}`;
}

const SENT = event('task-sent', { name: 'shop.pay', timestamp: BEGUN_MS / 1000 - 2 });

/** A task is sent and a worker lives; nothing follows for an hour. */
const silentAfterTwo = (t: TestContext): string =>
  recording(t, [
    [[SENT, event('worker-heartbeat')], 0],
    [event('worker-heartbeat'), 3_600_000],
  ]);

function serviceOn(
  t: TestContext,
  url: string,
  {
    meter = createNoopMeter(),
    beforeCollect,
    cluster = SETTINGS,
  }: Partial<MetricsSink & ServiceOptions> = {},
  more: Readonly<Record<string, string>> = {},
) {
  const config = serviceAt('shop', url, more);
  const counted: { event: ReadEvent; arrivedAtMs: number }[] = [];
  const reported: SelfEvent[] = [];
  const first = Promise.withResolvers<void>();
  const service = openService({
    ...config,
    cluster,
    polling: config,
    metrics: {
      meter,
      beforeCollect,
      choice: config.choice,
      retire: () => {},
      countEvent(read, arrivedAtMs) {
        counted.push({ event: read, arrivedAtMs });
        first.resolve();
      },
    },
    report: (it) => reported.push(it),
    random: () => 0,
    yieldToLoop: createYieldToLoop(),
  });
  t.after(() => service.stop());
  return { service, counted, reported, first: first.promise };
}

test('it reports its connection state, and the size and limit of each table', async (t) => {
  const { service, first } = serviceOn(t, silentAfterTwo(t));
  const before = service.reading();
  assert.deepEqual([before.service, before.connected], ['shop', false]);
  assert.deepEqual(
    Object.entries(before.tables).map(([table, { size, limit, bytes }]) => [table, size, limit, bytes]),
    [
      ['tasks', 0, SETTINGS.tasksMax, 0],
      ['workers', 0, SETTINGS.workersMax, 0],
      ['reordering_window', 0, SETTINGS.heldMax, 0],
      ['clock_skews', 0, SETTINGS.skewPairsMax, 0],
    ],
  );
  for (const { bytesMax } of Object.values(before.tables)) assert.ok(bytesMax > 0);
  await first;
  const { connected, tables } = service.reading();
  assert.equal(connected, true);
  assert.deepEqual([tables['tasks']?.size, tables['workers']?.size], [1, 1]);
  assert.ok((tables['tasks']?.bytes ?? 0) > 0);
  await service.stop();
  assert.equal(service.reading().connected, false);
});

test('commands that may stop workers on Redis are warned of at the start', (t) => {
  const master = (url: string) => (url.startsWith('sentinel') ? { CELERY_MASTER_NAME: 'shop' } : {});
  const warned = (url: string, commands: string) =>
    serviceOn(t, url, {}, { CELERY_OTEL_CONTROL_COMMANDS: commands, ...master(url) }).reported.flatMap(
      (each) => (each.kind === 'workers-endangered' ? [each.commands] : []),
    );
  for (const url of ['redis://127.0.0.1:1', 'rediss://127.0.0.1:1', 'sentinel://127.0.0.1:1']) {
    assert.deepEqual(warned(url, 'active,scheduled,reserved'), [['reserved', 'scheduled']], url);
    assert.deepEqual(warned(url, 'stats,active_queues,active'), []);
  }
  assert.deepEqual(warned('amqp://127.0.0.1:1', 'scheduled'), []);
});

test('a collection settles before its callbacks, which change nothing', async (t) => {
  const url = silentAfterTwo(t);
  const settings = otlpSettings('', {}).streams;
  const provider = createProvider({
    name: 'shop',
    resource: serviceResource('shop', {}),
    settings,
    onFailure: (reason) => assert.fail(String(reason)),
  });
  const prepared: (() => Promise<void>)[] = [];
  const { service, first } = serviceOn(t, url, {
    meter: provider.getMeter('celery-otel'),
    beforeCollect: (prepare) => prepared.push(prepare),
  });
  await first;
  assert.equal(service.state().workers, undefined);
  for (const prepare of prepared) await prepare();
  const { workers } = service.state();
  assert.equal(workers?.known, 1);
  await provider.collect();
  assert.equal(service.state().workers, workers, 'the view is that of before the collection');
});

test('each event is counted with the arrival time of its message', async (t) => {
  const { service, counted } = serviceOn(t, `${recording(t, [[[SENT, SENT], 500]])}?speed=max`);
  assert.equal(await service.done, 'finished');
  const lagsMs = counted.map(({ event: read, arrivedAtMs }) => [read.type, arrivedAtMs - read.timestampMs]);
  assert.deepEqual(lagsMs, [
    ['task-sent', 2500],
    ['task-sent', 2500],
  ]);
});

test('an event with an implausible number is counted, and the number is reported', async (t) => {
  const heartbeat = event('worker-heartbeat', { processed: 1e20, timestamp: BEGUN_MS / 1000 });
  const { service, counted, reported } = serviceOn(
    t,
    `${recording(t, [[[heartbeat, heartbeat], 0]])}?speed=max`,
  );
  assert.equal(await service.done, 'finished');
  assert.equal(counted.length, 2);
  const one = {
    kind: 'field-implausible',
    service: 'shop',
    field: 'processed',
    detail: 'above 1000000000000 {task}',
  };
  assert.deepEqual(
    reported.filter(({ kind }) => kind === 'field-implausible'),
    [one, one],
  );
});

test('the expansion of its messages is bounded together, and allowed again a second later', async (t) => {
  const args = randomBytes(2000).toString('hex').repeat(75);
  const sent = event('task-sent', { args, timestamp: BEGUN_MS / 1000 });
  const atOnce = 40;
  const times = [...Array<number>(atOnce).fill(0), 1_000].map((afterMs) => [sent, afterMs] as const);
  const { service, counted, reported } = serviceOn(t, `${recording(t, times, 'application/zstd')}?speed=max`);
  assert.equal(await service.done, 'finished');
  const atMs = counted.map(({ arrivedAtMs }) => arrivedAtMs - BEGUN_MS);
  const dropped = reported.flatMap((it) => (it.kind === 'input-dropped' ? [it.reason] : []));
  assert.equal(atMs.at(-1), 1_000);
  assert.ok(atMs.length > atOnce / 2 && atMs.length < atOnce, `${atMs.length}`);
  assert.deepEqual(dropped, Array<string>(atOnce + 1 - atMs.length).fill('decompression-too-costly'));
});

test('our clock may be set: the events that arrive then do not seem to be late', async (t) => {
  const HOUR_MS = 3_600_000;
  const broker = await startScriptedBroker(t);
  const { provider, collect } = plainSdk();
  const meter = provider.getMeter('shop');
  const { service, first } = serviceOn(t, broker.url, { meter, cluster: { ...SETTINGS, windowMs: HOUR_MS } });
  assert.equal(await service.ready, true);
  const nowMs = Date.now();
  t.mock.method(Date, 'now', () => nowMs + HOUR_MS);
  const heartbeat = event('worker-heartbeat', { timestamp: nowMs / 1000 });
  const headers = field('hostname', tagged('V'));
  broker.send(broker.deliver(content(1, headers, Buffer.from(JSON.stringify(heartbeat)))));
  await first;
  const ages = (await collect()).filter(({ metric }) => metric === 'celery.worker.heartbeat.age');
  assert.deepEqual(
    ages.map(({ value }) => value < HOUR_MS / 2000),
    [true],
  );
});
