import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchQueue, type Line } from '../../../src/otlp/export/batch-queue.ts';
import { fc } from '../../seed.ts';

/** A queue of numbers, each of which takes itself in bytes, and who lost how many of them. */
function queueOf(itemsMax: number, bytesMax = Number.POSITIVE_INFINITY, traceOf?: (item: number) => string) {
  const dropped = new Map<string, number>();
  const queue = new BatchQueue<string, number>({
    itemsMax,
    bytesMax,
    bytesOf: (item) => item,
    traceOf,
    onDropped: (source) => dropped.set(source, (dropped.get(source) ?? 0) + 1),
  });
  return { queue, dropped };
}

function addTo(queue: BatchQueue<string, number>, line: Line<string, number>, ...items: number[]): void {
  for (const item of items) queue.add(line, item);
}

const taken = (queue: BatchQueue<string, number>, itemsMax: number) =>
  queue.take(itemsMax).map(({ line, items }) => [line.source, ...items]);

test('items of a service leave in the order in which they came', () => {
  const { queue } = queueOf(10);
  const shop = queue.open('shop');
  addTo(queue, shop, 1, 2, 3);
  assert.deepEqual(taken(queue, 2), [['shop', 1, 2]]);
  addTo(queue, shop, 4);
  assert.deepEqual(taken(queue, 5), [['shop', 3, 4]]);
  assert.deepEqual(taken(queue, 5), []);
});

test('when it is full, by bytes, the new item is dropped, but a smaller one may have room', () => {
  const { queue, dropped } = queueOf(10, 100);
  const shop = queue.open('shop');
  addTo(queue, shop, 60, 50, 40, 1);
  assert.deepEqual([...dropped], [['shop', 2]]);
  assert.deepEqual(queue.held, { items: 2, bytes: 100 });
});

/** The tens digit is the trace. */
const byTens = (item: number) => `${Math.floor(item / 10)}`;

test('spans are dropped by trace: what waits of it gives its room to others, at once', () => {
  const { queue, dropped } = queueOf(4, undefined, byTens);
  const shop = queue.open('shop');
  addTo(queue, shop, 11, 21, 22, 31, 23);
  assert.deepEqual([queue.held, queue.waiting, dropped.get('shop')], [{ items: 2, bytes: 42 }, 2, 3]);
  addTo(queue, shop, 41, 24, 12);
  assert.deepEqual(taken(queue, 9), [['shop', 11, 31, 41, 12]]);
  assert.deepEqual([queue.waiting, dropped.get('shop')], [0, 4]);
  // What was taken is held until it is released, and what follows of a dropped trace is dropped.
  addTo(queue, shop, 51, 25);
  assert.deepEqual([queue.waiting, dropped.get('shop')], [0, 6]);
});

test('with another service that wants its share, a whole trace makes room', () => {
  const { queue, dropped } = queueOf(4, undefined, byTens);
  const flood = queue.open('flood');
  const quiet = queue.open('quiet');
  addTo(queue, flood, 11, 21, 12, 22);
  addTo(queue, quiet, 31, 32);
  assert.deepEqual([...dropped], [['flood', 2]]);
  assert.deepEqual(taken(queue, 9).toSorted(), [
    ['flood', 11, 12],
    ['quiet', 31, 32],
  ]);
});

test('one service may use all of it, until another one wants its share', () => {
  const { queue, dropped } = queueOf(10);
  const flood = queue.open('flood');
  const quiet = queue.open('quiet');
  addTo(queue, flood, ...Array.from({ length: 15 }, (_, index) => index + 1));
  assert.equal(queue.held.items, 10);
  addTo(queue, quiet, 1, 2, 3, 4, 5, 6, 7);
  assert.deepEqual(
    [...dropped],
    [
      ['flood', 10],
      ['quiet', 2],
    ],
  );
  assert.deepEqual(taken(queue, 100), [
    ['flood', 1, 2, 3, 4, 5],
    ['quiet', 1, 2, 3, 4, 5],
  ]);
});

test('of several services beyond their share, the one with most makes room', () => {
  for (const most of [0, 1]) {
    const { queue, dropped } = queueOf(12);
    const lines = [queue.open('first'), queue.open('second')];
    for (const [index, line] of lines.entries())
      addTo(queue, line, ...Array.from({ length: index === most ? 7 : 5 }, (_, item) => item));
    addTo(queue, queue.open('third'), 1);
    assert.deepEqual([...dropped], [[most === 0 ? 'first' : 'second', 1]]);
  }
});

test('a batch has equal parts of all services, and what one leaves goes to others', () => {
  const { queue } = queueOf(100);
  const lines = ['a', 'b', 'c'].map((name) => queue.open(name));
  for (const [index, line] of lines.entries())
    addTo(queue, line, ...Array.from({ length: [20, 1, 5][index] ?? 0 }, (_, item) => item));
  assert.deepEqual(
    queue.take(12).map(({ line, items }) => [line.source, items.length]),
    [
      ['b', 1],
      ['c', 5],
      ['a', 6],
    ],
  );
});

for (const [of, traceOf] of [
  ['items', undefined],
  ['traces', String],
] as const) {
  test(`whatever ${of} are added and taken: within its bounds, nothing lost untold, nobody below its share loses`, () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 5, arbitrary: fc.tuple(fc.constantFrom(0, 0, 0, 1, 2), fc.integer({ min: 1, max: 30 })) },
        fc.tuple(fc.constant('take' as const), fc.integer({ min: 1, max: 20 })),
        fc.tuple(fc.constant('arrive' as const), fc.constant(0)),
      ),
      { maxLength: 200, size: 'max' },
    );
    fc.assert(
      fc.property(steps, (all) => {
        const { queue, dropped } = queueOf(30, 300, traceOf);
        const lines = ['flood', 'b', 'c'].map((name) => queue.open(name));
        const added = new Map<string, number>();
        const arrived = new Map<string, number>();
        const count = (of: Map<string, number>, name: string) => of.set(name, (of.get(name) ?? 0) + 1);
        let underWay: ReturnType<typeof queue.take> = [];
        for (const [what, value] of all) {
          if (what === 'take') {
            if (underWay.length === 0) underWay = queue.take(value);
          } else if (what === 'arrive') {
            for (const { line, sizes } of underWay) {
              for (const bytes of sizes) {
                queue.release(line, bytes);
                count(arrived, line.source);
              }
            }
            underWay = [];
          } else {
            const line = lines[what];
            assert.ok(line !== undefined);
            const isWithinShare = line.held.items < 10 && line.held.bytes + value <= 100;
            const before = dropped.get(line.source) ?? 0;
            count(added, line.source);
            queue.add(line, value);
            const isLost = (dropped.get(line.source) ?? 0) > before;
            // What is being sent cannot be pushed out, and of a trace all is.
            if (traceOf === undefined && underWay.length === 0) assert.ok(!(isWithinShare && isLost));
          }
          assert.ok(queue.held.items <= 30 && queue.held.bytes <= 300);
        }
        for (const { source, held } of lines) {
          const known = (dropped.get(source) ?? 0) + (arrived.get(source) ?? 0) + held.items;
          assert.equal(known, added.get(source) ?? 0);
        }
      }),
      { numRuns: 300 },
    );
  });
}
