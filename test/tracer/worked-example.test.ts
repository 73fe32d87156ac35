/** The spans of a chain that was recorded, one by one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attributesOf, tracer } from './finished-facts.ts';
import { at, C, I, S, WORKED_EXAMPLE } from './worked-example.ts';

const TRACE = '90817c7f6c284fe5aa467adb16d15d7d';

const made = tracer();
const SPANS = WORKED_EXAMPLE.flatMap((run) => made.trace(run).spans);

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

test('names, kinds, ids, parents and times', () => {
  const shown = SPANS.map(({ name, kind, spanId, parentSpanId, startMs, endMs }) => [
    ...[name, kind, spanId, parentSpanId, round(startMs), round(endMs)],
  ]);
  const expected: readonly (readonly [string, string, string, string, number, number])[] = [
    ['send app.charge', 'producer', 'ee4651f2c0d347f0', '', 0.949424, 0.949424],
    ['process app.charge', 'consumer', 'a8e69524b9ea48d2', 'ee4651f2c0d347f0', 0.967056, 1.056533],
    ['send app.ship', 'producer', '58b2c7480ff66b8d', 'a8e69524b9ea48d2', 1.044705, 1.044705],
    ['process app.ship', 'consumer', '49cfe1a90104ea87', '58b2c7480ff66b8d', 1.198748, 1.231395],
    ['process app.ship', 'consumer', '59b012dcaf7a5df0', '58b2c7480ff66b8d', 1.42322, 1.452471],
    ['send app.invoice', 'producer', '8466914b0b7812c2', '59b012dcaf7a5df0', 1.445824, 1.445824],
    ['process app.invoice', 'consumer', '8d98fd9fb6eb92b8', '8466914b0b7812c2', 1.454519, 1.487628],
  ];
  assert.deepEqual(
    shown,
    expected.map(([name, kind, id, parent, start, end]) => [
      ...[name, kind, id, parent, round(at(start)), round(at(end))],
    ]),
  );
});

const BROKER_ATTRIBUTES = {
  'messaging.system': 'rabbitmq',
  'messaging.system.name': 'rabbitmq',
  'messaging.destination.name': 'app',
  'server.address': 'mq',
  'server.port': 5672,
  'celery.queue.name': 'app',
};

function ofSend(task: string, uuid: string, client: string) {
  return {
    ...BROKER_ATTRIBUTES,
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.message.id': uuid,
    'messaging.client.id': client,
    'host.name': 'vm',
    'celery.task.name': task,
  };
}

function ofProcess(task: string, uuid: string, own: Readonly<Record<string, unknown>>) {
  return {
    ...BROKER_ATTRIBUTES,
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.message.id': uuid,
    'celery.task.name': task,
    'celery.worker.name': 'w1@vm',
    'messaging.client.id': 'w1@vm',
    'host.name': 'vm',
    ...own,
  };
}

test('attributes', () => {
  assert.deepEqual(SPANS.map(attributesOf), [
    ofSend('app.charge', C, 'gen28696@vm'),
    ofProcess('app.charge', C, { 'celery.task.outcome': 'succeeded', 'celery.task.wait_time': 0.023585 }),
    ofSend('app.ship', S, 'gen28591@vm'),
    ofProcess('app.ship', S, { 'celery.task.outcome': 'retried', 'error.type': 'ConnectionError' }),
    ofProcess('app.ship', S, {
      'celery.task.outcome': 'succeeded',
      'celery.task.retries': 1,
      'celery.task.wait_time': 0.001406,
    }),
    ofSend('app.invoice', I, 'gen28591@vm'),
    ofProcess('app.invoice', I, { 'celery.task.outcome': 'failed', 'error.type': 'ValueError' }),
  ]);
});

test('ids of what is dropped are known all the same, and not sampled; they are those of the run, not of its sending', () => {
  for (const [kind, flags] of [
    ['always_on', 3],
    ['always_off', 2],
  ] as const) {
    const made = tracer({ sampler: { kind } });
    assert.deepEqual(
      WORKED_EXAMPLE.map((run) => made.trace(run).context),
      ['a8e69524b9ea48d2', '49cfe1a90104ea87', '59b012dcaf7a5df0', '8d98fd9fb6eb92b8'].map((spanId) => ({
        ...{ traceId: TRACE, spanId, flags },
      })),
    );
  }
});
