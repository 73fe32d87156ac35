/** How long tasks wait, by what the broker holds: a task that has left its queue without an event waits no longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueueDepth } from '../../src/broker/broker-reading.ts';
import type { TaskSent } from '../../src/celery/event.ts';
import { received, SETTINGS, sent, started, succeeded, T0_MS, WORKER, watch } from './events.ts';

const HELD_S = 10;

/** Times are in seconds. */
function watchQueues() {
  const { cluster, observed } = watch();
  const atMs = (atS: number) => T0_MS + 1000 * atS;
  const depth = (queue: string, length: number, more: Partial<QueueDepth> = {}) => ({
    queue,
    length,
    ...more,
  });
  const pollAll = (atS: number, queues: readonly QueueDepth[], tookS = 0) =>
    cluster.answers.brokerKnows({ queues, incomplete: [] }, () => 1000 * tookS, atMs(atS + tookS));
  return {
    cluster,
    observed,
    send: (uuid: string, atS: number, over: Partial<TaskSent> = {}) =>
      cluster.apply(sent({ uuid, timestampMs: atMs(atS), ...over }), atMs(atS)),
    run(uuid: string, atS: number, name = 'shop.pay'): void {
      const when = { uuid, timestampMs: atMs(atS) };
      for (const event of [received({ ...when, name }), started(when), succeeded(when)])
        cluster.apply(event, atMs(atS));
    },
    /** @param tookS from its begin to its answer */
    poll: (atS: number, length: number, tookS = 0) => pollAll(atS, [depth('orders', length)], tookS),
    pollAll,
    depth,
    waitingS: (atS: number, of = 'orders') =>
      cluster.collect(atMs(atS)).queues.find(({ queue }) => queue === of)?.waitingAgeS,
    left: (atS: number) => cluster.collect(atMs(atS)).left ?? [],
    prefetched: (atS: number) =>
      cluster.collect(atMs(atS)).workers.find(({ worker }) => worker === WORKER)?.prefetched,
  };
}

test('what two polls have no room for waits no longer: a message may be on its way to its queue, or its receipt on its way to us', () => {
  const on = watchQueues();
  on.send('old', 0);
  on.poll(9, 0);
  on.send('new', 12);
  on.poll(9 + HELD_S - 1, 1);
  assert.equal(on.waitingS(19), 19, 'the polls are too near each other');
  on.poll(9 + HELD_S, 1);
  assert.equal(on.waitingS(20), 8);
  on.poll(30, 1);
  on.poll(60, 1);
  assert.equal(on.waitingS(60), 48, 'one waits');
});

test('in a queue that is never empty, tasks of which no worker tells anything grow no older than the others', () => {
  const on = watchQueues();
  let oldest = 0;
  for (let atS = 0; atS < 3600; atS += 15) {
    on.send(`silent ${atS}`, atS);
    for (const index of [0, 1, 2]) on.send(`${index} ${atS}`, atS + index);
    if (atS > 0) for (const index of [0, 1, 2]) on.run(`${index} ${atS - 15}`, atS + 2);
    on.poll(atS + 3, 4);
    oldest = Math.max(oldest, on.waitingS(atS + 14) ?? 0);
  }
  assert.ok(oldest <= 60, `${oldest} s`);
});

test('a poll that lacks the queue, or is missing, proves nothing', () => {
  const on = watchQueues();
  on.send('u1', 0);
  on.pollAll(20, [on.depth('mails', 0)]);
  on.cluster.answers.brokerKnows(undefined, () => 0, T0_MS + 30_000);
  assert.equal(on.waitingS(3600), 3600);
});

test('each queue has its own messages, and a task that returns to one wears out nobody', () => {
  const on = watchQueues();
  on.send('u1', 0);
  on.send('u2', 0, { queue: 'mails' });
  for (const atS of [10, 25]) on.pollAll(atS, [on.depth('orders', 1), on.depth('mails', 0)]);
  assert.deepEqual([on.waitingS(30), on.waitingS(30, 'mails')], [30, 0]);
  // A message that was delivered before is back: it has no sending, but is counted.
  on.pollAll(40, [on.depth('orders', 2), on.depth('mails', 1)]);
  assert.deepEqual([on.waitingS(60), on.waitingS(60, 'mails')], [60, 0]);
});

test('a task that the broker delays is in no queue until it is due, and then as long as the queue has messages', () => {
  const on = watchQueues();
  const delayed = { queue: '', routingKey: `${'0.'.repeat(28)}orders` };
  on.send('u1', 0, { ...delayed, etaMs: T0_MS + 60_000 });
  for (let atS = 5; atS < 70; atS += 15) {
    on.poll(atS, 0);
    on.waitingS(atS);
  }
  assert.equal(on.waitingS(75), 15, 'it has just arrived there');
  on.poll(80, 1);
  assert.equal(on.waitingS(100), 40);
  for (const atS of [101, 116]) on.poll(atS, 0);
  assert.equal(on.waitingS(116), 0);
});

test('tasks with an ETA that workers have not received are in the queue like others', () => {
  const on = watchQueues();
  on.send('u1', 0, { etaMs: T0_MS + 60_000 });
  for (const atS of [5, 20]) on.poll(atS, 0);
  assert.equal(on.waitingS(100), 0);
});

test('where high priorities overtake, tasks of low priority wait as long as they are there', () => {
  const byPriority = (high: number, low: number): Partial<QueueDepth> => ({
    byPriority: [
      [0, high],
      [9, low],
    ],
  });
  const on = watchQueues();
  on.send('low', 0);
  for (let atS = 1; atS < 600; atS += 1) {
    on.send(`high ${atS}`, atS);
    // Its receipt is on its way while the broker is asked.
    if (atS > 1) on.run(`high ${atS - 1}`, atS);
    if (atS % 15 === 0) on.pollAll(atS + 0.5, [on.depth('orders', 1, byPriority(0, 1))]);
  }
  assert.equal(on.waitingS(600), 600);
  on.pollAll(601, [on.depth('orders', 0, byPriority(0, 0))]);
  on.run('high 599', 602);
  for (const atS of [616, 631]) on.pollAll(atS, [on.depth('orders', 0, byPriority(0, 0))]);
  assert.equal(on.waitingS(632), 0, 'it was purged');
});

test('a queue whose tasks come after they were given up has priorities, though its broker does not say so', () => {
  const on = watchQueues();
  const story = (name: string, fromS: number): void => {
    on.send(name, fromS);
    for (let atS = fromS + 1; atS < fromS + 100; atS += 1) {
      on.send(`${name} ${atS}`, atS);
      if (atS > fromS + 1) on.run(`${name} ${atS - 1}`, atS);
      if (atS % 15 === 0) on.poll(atS + 0.5, 1);
    }
    on.run(`${name} ${fromS + 99}`, fromS + 100);
  };
  story('first', 0);
  assert.equal(on.waitingS(101), 0, 'this may be wrong');
  on.send('meanwhile', 101);
  on.run('first', 102);
  on.run('meanwhile', 102);
  story('second', 102);
  assert.equal(on.waitingS(203), 101);
});

test('queues with priorities that are used no more leave room for others after a while', () => {
  const on = watchQueues();
  const names = Array.from({ length: 2000 }, (_, index) => `old ${index}`);
  for (const queue of names) on.send(queue, 0, { queue });
  on.pollAll(
    1,
    names.map((queue) => on.depth(queue, 1, { byPriority: [[9, 1]] })),
  );
  for (const queue of names) on.run(queue, 2);
  const retentionS = SETTINGS.seriesRetentionMs / 1000;
  on.waitingS(retentionS);
  on.waitingS(retentionS + 10);
  on.send('u1', retentionS + 11);
  for (const afterS of [12, 27]) on.poll(retentionS + afterS, 0);
  assert.equal(on.waitingS(retentionS + 30), 0);
});

test('a task that was given up and is received after all counts with its wait', () => {
  const on = watchQueues();
  on.send('u1', 0);
  for (const atS of [1, 16]) on.poll(atS, 0);
  assert.equal(on.waitingS(20), 0);
  on.cluster.apply(received({ uuid: 'u1', timestampMs: T0_MS + 30_000 }), T0_MS + 30_000);
  on.cluster.flush();
  assert.deepEqual(
    on.observed.flatMap((it) => (it.kind === 'task-received' ? [[it.run.queue, it.queueTimeS]] : [])),
    [['orders', 30]],
  );
  assert.equal(on.prefetched(40), 1);
});

test('names under which no worker was ever seen to run a task are counted once they have left their queue', () => {
  const on = watchQueues();
  for (let index = 0; index < 3; index += 1) {
    on.send(`quiet ${index}`, index, { name: 'shop.quiet' });
    on.send(`loud ${index}`, index, { name: 'shop.loud' });
  }
  on.run('loud 0', 3, 'shop.loud');
  assert.deepEqual(on.left(4), []);
  on.poll(5, 0);
  assert.deepEqual(on.left(15), []);
  on.poll(20, 0);
  assert.deepEqual(on.left(20), [{ task: 'shop.quiet', count: 3 }]);
  assert.deepEqual(on.left(100), [{ task: 'shop.quiet', count: 3 }], 'each once');
  assert.deepEqual(on.left(3700), [], 'it was long ago');
});
