import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSelfRecorder } from '../../src/meter/self-recorder.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { collectingMeter } from './collecting.ts';

const CASES: readonly { event: SelfEvent; point: string }[] = [
  {
    event: {
      kind: 'input-dropped',
      service: 'shop',
      reason: 'invalid-json',
      intentional: false,
      detail: '7 characters',
    },
    point: 'celery_otel.input.dropped shop,invalid-json,false = 1',
  },
  {
    event: {
      kind: 'broker-session-ended',
      service: 'shop',
      broker: 'amqp://h',
      end: 'lost',
      reason: 'closed',
      retryInMs: 0,
    },
    point: 'celery_otel.broker.sessions shop,lost = 1',
  },
  {
    event: { kind: 'table-evicted', service: 'shop', table: 'tasks', count: 41 },
    point: 'celery_otel.table.evictions shop,tasks = 41',
  },
  {
    event: { kind: 'table-evicted', service: 'shop', table: 'reordering_window', count: 2 },
    point: 'celery_otel.table.evictions shop,reordering_window = 2',
  },
  {
    event: { kind: 'clock-skewed', service: 'shop', senderHost: 'web1', workerHost: 'node7' },
    point: 'celery_otel.clock.skews shop,web1,node7 = 1',
  },
  {
    event: {
      kind: 'export-finished',
      service: 'shop',
      outcome: 'failure',
      durationMs: 3,
      reason: 'UNAVAILABLE',
    },
    point: 'celery_otel.exports shop,failure = 1',
  },
  {
    event: { kind: 'defect', service: 'shop', where: 'decode', reason: 'TypeError' },
    point: 'celery_otel.input.dropped shop,defect,false = 1',
  },
];

for (const { event, point } of CASES) {
  test(`a ${event.kind} is counted as ${point}`, async (t) => {
    const { meter, collect } = collectingMeter(t);
    createSelfRecorder(meter).record(event);
    const collected = (await collect()).filter(({ metric }) => metric !== 'celery_otel.up');
    assert.deepEqual(
      collected.map(
        ({ metric, attributes, value }) => `${metric} ${Object.values(attributes).join(',')} = ${value}`,
      ),
      [point],
    );
  });
}

test('events read are counted by type, and the bridge says that it is up', async (t) => {
  const { meter, collect } = collectingMeter(t);
  const recorder = createSelfRecorder(meter);
  const count = recorder.eventsOf('shop');
  for (const type of ['task-sent', 'task-sent', 'worker-heartbeat']) count(type);
  const points = (await collect()).map(({ metric, attributes, value }) => [
    metric,
    Object.values(attributes),
    value,
  ]);
  assert.deepEqual(points, [
    ['celery_otel.up', [], 1],
    ['celery_otel.events', ['shop', 'task-sent'], 2],
    ['celery_otel.events', ['shop', 'worker-heartbeat'], 1],
  ]);
});
