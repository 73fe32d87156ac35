import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { BatchLoop } from '../../../src/otlp/export/batch-loop.ts';
import { BatchQueue } from '../../../src/otlp/export/batch-queue.ts';
import type { ExportResult } from '../../../src/otlp/send/exporter.ts';
import { ALMOST_1 } from './looping.ts';
import { mockTime } from './mocked-time.ts';
import { SUCCESS, UNAVAILABLE } from './scripted-exporter.ts';

/** A loop in mocked time over a queue of numbers, with what was sent when. */
function loopOf(
  t: TestContext,
  answer: (nowMs: number) => ExportResult | Promise<ExportResult>,
  random = ALMOST_1,
  delayMs = 500,
) {
  const time = mockTime(t);
  const sent: (readonly [atMs: number, items: readonly number[]])[] = [];
  const defects: unknown[] = [];
  const lost: string[] = [];
  const outcomes: string[] = [];
  const queue = new BatchQueue<string, number>({
    itemsMax: 100,
    bytesMax: 1000,
    bytesOf: () => 1,
    onDropped: () => assert.fail('it is never full'),
  });
  const loop = new BatchLoop<string, number, readonly number[]>({
    queue,
    batchMax: 3,
    delayMs,
    requestBytesOf: (item) => (item < 0 ? assert.fail('odd') : 1),
    dataOf: (all) => all.flatMap(({ items }) => items),
    exporter: {
      async export(items) {
        sent.push([time.nowMs(), items]);
        return answer(time.nowMs());
      },
    },
    onExport: ({ outcome }) => outcomes.push(outcome),
    onRefused: (source) => lost.push(source),
    onDefect: (reason) => defects.push(reason),
    random: () => random,
  });
  const shop = queue.open('shop');
  const add = (...items: readonly number[]) => {
    for (const item of items) {
      queue.add(shop, item);
      loop.noteAdded();
    }
  };
  return { loop, queue, time, sent, add, defects, lost, outcomes };
}

test('the delay runs from one batch to the next, and nothing is sent where nothing waits', async (t) => {
  const { loop, time, sent, add } = loopOf(t, () => SUCCESS);
  loop.start();
  await time.pass(700);
  add(1);
  await time.pass(299);
  assert.equal(sent.length, 0);
  await time.pass(2);
  add(2, 3, 4, 5);
  await time.pass(2);
  assert.deepEqual(
    sent.map(([, items]) => items),
    [[1], [2, 3, 4]],
  );
  await time.pass(500);
  assert.deepEqual(sent[2]?.[1], [5]);
});

test('with a delay of 0 items are sent at once, but an idle loop is not busy', async (t) => {
  const { loop, queue, time, sent, add } = loopOf(t, () => SUCCESS, ALMOST_1, 0);
  const take = t.mock.method(queue, 'take');
  loop.start();
  await time.pass(1000);
  assert.ok(take.mock.callCount() <= 50, `${take.mock.callCount()} times in a second`);
  add(1);
  await time.pass(25);
  assert.deepEqual(sent[0]?.[1], [1]);
});

test('while the backend is away, the same batch is tried after 1, 2, 4, 8, 10 and 10 s', async (t) => {
  const { loop, time, sent, add } = loopOf(t, (nowMs) => (nowMs < 30_000 ? UNAVAILABLE : SUCCESS));
  loop.start();
  add(1, 2, 3);
  await time.pass(100);
  // These wait for their turn: no batch that is full may end the back-off.
  add(4, 5, 6, 7);
  await time.pass(36_000);
  const times = sent.filter(([, items]) => items[0] === 1).map(([atMs]) => atMs);
  const gaps = times.slice(1).map((atMs, index) => Math.round((atMs - (times[index] ?? 0)) / 100) / 10);
  assert.deepEqual(gaps, [1, 2, 4, 8, 10, 10]);
  assert.deepEqual(
    sent.slice(times.length).map(([, items]) => items),
    [[4, 5, 6], [7]],
  );
});

test('several bridges do not retry at the same moment', async (t) => {
  const { loop, time, sent, add } = loopOf(t, () => UNAVAILABLE, 0);
  loop.start();
  add(1, 2, 3);
  await time.pass(1000);
  const [first = 0, second = 0] = sent.map(([atMs]) => atMs);
  assert.ok(Math.abs(second - first - 750) < 5, `${second - first}`);
});

test('a bug costs its batch, which is told, and nothing else', async (t) => {
  const { loop, queue, time, sent, add, defects, lost } = loopOf(t, () => SUCCESS);
  loop.start();
  add(1, -1, 2, 3, 4, 5);
  await time.pass(5);
  assert.equal(defects.length, 1);
  assert.deepEqual(lost, ['shop', 'shop', 'shop']);
  assert.deepEqual(
    sent.map(([, items]) => items),
    [[3, 4, 5]],
  );
  assert.deepEqual(queue.held, { items: 0, bytes: 0 });
});

test('what a stop leaves is told once, also if its answer comes later', async (t) => {
  const answer = Promise.withResolvers<ExportResult>();
  const { loop, queue, time, add, lost, outcomes } = loopOf(t, () => answer.promise);
  loop.start();
  add(1, 2, 3, 4);
  await time.pass(5);
  const unsent: string[] = [];
  const closed = loop.close(200, (source) => unsent.push(source));
  await time.pass(205);
  await closed;
  assert.equal(unsent.length, 4);
  answer.resolve(SUCCESS);
  await time.pass(5);
  assert.equal(unsent.length, 4);
  assert.deepEqual([lost, outcomes], [[], []]);
  assert.deepEqual(queue.held, { items: 0, bytes: 0 });
});
