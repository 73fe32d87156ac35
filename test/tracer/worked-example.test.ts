/** The spans of a chain that was recorded, one by one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sampler } from '../../src/tracer/trace-settings.ts';
import { attributesOf, tracer } from './finished-facts.ts';
import { at, C, I, S, workedExample } from './worked-example.ts';

const TRACE = '90817c7f6c284fe5aa467adb16d15d7d';

function spansOf(isSentTold: boolean, sampler: Sampler = { kind: 'always_on' }) {
  const made = tracer({ sampler });
  return workedExample(isSentTold).flatMap((run) => made.trace(run).spans);
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

test('names, kinds, ids, parents and times', () => {
  const shown = spansOf(true).map(({ name, kind, spanId, parentSpanId, startMs, endMs }) => [
    name,
    kind,
    spanId,
    parentSpanId,
    round(startMs),
    round(endMs),
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
      name,
      kind,
      id,
      parent,
      round(at(start)),
      round(at(end)),
    ]),
  );
});

test('one trace, all of it sampled and random, with certainty', () => {
  for (const span of spansOf(true)) {
    const { traceId, flags, traceState, isParentRemote } = span;
    assert.deepEqual(
      { traceId, flags, traceState, isParentRemote },
      { traceId: TRACE, flags: 3, traceState: 'ot=th:0', isParentRemote: false },
    );
  }
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
  assert.deepEqual(spansOf(true).map(attributesOf), [
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

test('one link, one error, no event', () => {
  const spans = spansOf(true);
  const link = { traceId: TRACE, spanId: '49cfe1a90104ea87', attributes: { 'celery.link': 'retry_of' } };
  assert.deepEqual(
    spans.map(({ links }) => links),
    [[], [], [], [], [link], [], []],
  );
  assert.deepEqual(
    spans.map(({ error }) => error?.description),
    [undefined, undefined, undefined, undefined, undefined, undefined, 'no address for order 17'],
  );
  assert.deepEqual(
    spans.flatMap(({ events }) => events),
    [],
  );
});

test('without task-sent: the same ids of runs, each below the run that sent it', () => {
  assert.deepEqual(
    spansOf(false).map(({ spanId, parentSpanId }) => [spanId, parentSpanId]),
    [
      ['a8e69524b9ea48d2', ''],
      ['49cfe1a90104ea87', 'a8e69524b9ea48d2'],
      ['59b012dcaf7a5df0', 'a8e69524b9ea48d2'],
      ['8d98fd9fb6eb92b8', '59b012dcaf7a5df0'],
    ],
  );
});

test('at a tenth it is dropped, but for a failure that a rule keeps, with its sending', () => {
  const tenth: Sampler = { kind: 'probability', ratio: 0.1 };
  assert.deepEqual(spansOf(true, tenth), []);
  const kept = spansOf(true, {
    kind: 'rule_based',
    rules: [
      { attributeValues: { key: 'celery.task.outcome', values: ['failed'] }, sampler: { kind: 'always_on' } },
      { sampler: tenth },
    ],
  });
  assert.deepEqual(
    kept.map(({ name, traceState }) => [name, traceState]),
    [
      ['send app.invoice', 'ot=th:0'],
      ['process app.invoice', 'ot=th:0'],
    ],
  );
});

test('log records and exemplars belong to the run, not to its sending', () => {
  const made = tracer();
  assert.deepEqual(
    workedExample(true).map((run) => made.trace(run).context?.spanId),
    ['a8e69524b9ea48d2', '49cfe1a90104ea87', '59b012dcaf7a5df0', '8d98fd9fb6eb92b8'],
  );
});

test('ids of what is dropped are known all the same, and not sampled', () => {
  const made = tracer({ sampler: { kind: 'always_off' } });
  assert.deepEqual(
    workedExample(true).map((run) => made.trace(run).context),
    ['a8e69524b9ea48d2', '49cfe1a90104ea87', '59b012dcaf7a5df0', '8d98fd9fb6eb92b8'].map((spanId) => ({
      traceId: TRACE,
      spanId,
      flags: 2,
    })),
  );
});
