import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportRequests } from '../../../src/otlp/export/export-request.ts';
import { type Stop, sendRequests } from '../../../src/otlp/export/send-requests.ts';
import type { ExportResult } from '../../../src/otlp/send/exporter.ts';
import { fc } from '../../seed.ts';
import { numbered, numbersIn } from './numbered.ts';
import { REFUSED, SUCCESS, UNAVAILABLE } from './scripted-exporter.ts';

/** Of a full request. */
const FULL = 1000;
/** Requests of an export beside those that it would have anyway. */
const MORE_MAX = 64;

/** Sends as many items to a backend that judges each request by the numbers of its items. */
async function sendTo(items: number, judge: (items: readonly number[]) => ExportResult, mustStop = allow) {
  const collected = numbered(items);
  const requests = exportRequests([collected], numbersIn);
  const sizes: number[] = [];
  const exporter = {
    async export(numbers: readonly number[]): Promise<ExportResult> {
      sizes.push(numbers.length);
      return judge(numbers);
    },
  };
  const sent = await sendRequests(requests, { exporter, mustStop: () => mustStop(sizes.length) });
  return { sent, sizes, settled: collected.settled.toSorted((a, b) => a - b) };
}

const allow = (_sent: number): Stop | undefined => undefined;

const refusing =
  (bad: ReadonlySet<number>) =>
  (items: readonly number[]): ExportResult =>
    items.some((point) => bad.has(point)) ? REFUSED : SUCCESS;

const without = (items: number, bad: ReadonlySet<number>): readonly number[] =>
  Array.from({ length: items }, (_, point) => point).filter((point) => !bad.has(point));

test('whatever is refused, requests are bounded, and each point that arrives is settled once', async () => {
  const items = 4 * FULL;
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(items - 1), { maxLength: 40 }), async (chosen) => {
      const bad = new Set(chosen);
      const { sent, sizes, settled } = await sendTo(items, refusing(bad));
      assert.equal(new Set(settled).size, settled.length);
      assert.ok(settled.every((point) => !bad.has(point)));
      assert.equal(settled.length, sent.items);
      assert.equal(
        sent.items + sent.refused.reduce((sum, { request }) => sum + request.items, 0),
        items,
        'each has arrived or is reported',
      );
      assert.ok(sizes.length <= items / FULL + MORE_MAX, `${sizes.length} requests`);
    }),
    { numRuns: 50 },
  );
});

for (const [items, itemsMax] of [
  [512, 100],
  [FULL, 63],
  [3 * FULL, 100],
  [3 * FULL + 13, 300],
] as const) {
  test(`a backend that takes at most ${itemsMax} items a request gets all of ${items}`, async () => {
    const { sent, settled } = await sendTo(items, ({ length }) => (length > itemsMax ? REFUSED : SUCCESS));
    assert.deepEqual(settled, without(items, new Set()));
    assert.equal(sent.items, items);
    assert.deepEqual(sent.refused, []);
  });
}

test('a request of which nothing is accepted keeps no other from being sent in parts', async () => {
  const bad = new Set([...without(FULL, new Set()), FULL + 7]);
  const { settled } = await sendTo(3 * FULL, refusing(bad));
  assert.deepEqual(settled.slice(-FULL), without(3 * FULL, bad).slice(-FULL));
  assert.ok(settled.length > 1.9 * FULL, `${settled.length} items`);
});

test('of more than the bound allows, a backend that takes little gets as much, and the rest is reported', async () => {
  const { sent, sizes, settled } = await sendTo(4 * FULL, ({ length }) => (length > 20 ? REFUSED : SUCCESS));
  assert.equal(sizes.length, 4 + MORE_MAX);
  assert.ok(settled.length > 55 * 15, `${settled.length} items`);
  assert.equal(
    sent.refused.reduce((sum, { request }) => sum + request.items, 0),
    4 * FULL - settled.length,
  );
});

test('a backend that refuses everything is tried with smaller requests, three times', async () => {
  const { sent, sizes } = await sendTo(4 * FULL, () => REFUSED);
  const parts = [250, 250, 250, 250, 63, 63, 63, 61, 16, 16, 16, 13];
  assert.deepEqual(sizes, [FULL, FULL, FULL, FULL, ...parts]);
  assert.equal(sent.items, 0);
  assert.equal(sent.refused.length, 4 + parts.length - 3);
});

test('after the deadline, parts of refused requests are not sent', async () => {
  const bad = new Set([0]);
  const { sent, sizes } = await sendTo(2 * FULL, refusing(bad), (sent) =>
    sent < 4 ? undefined : { kind: 'given-up', reason: 'over' },
  );
  assert.deepEqual(sizes, [FULL, FULL, 250, 250]);
  assert.deepEqual(sent.stop, { kind: 'given-up', reason: 'over' });
  assert.equal(sent.items, FULL + 250);
});

test('an optional request is neither counted nor tried again, whatever becomes of it', async () => {
  for (const [answer, settled] of [
    [SUCCESS, [0, 1, 2]],
    [REFUSED, [0, 1, 2]],
    [UNAVAILABLE, []],
  ] as const) {
    const [values, ends] = [numbered(5), numbered(3)];
    const optional = exportRequests([ends], numbersIn).map(
      (request) => ({ ...request, isOptional: true }) as const,
    );
    const sizes: number[] = [];
    const exporter = {
      async export(numbers: readonly number[]): Promise<ExportResult> {
        sizes.push(numbers.length);
        return numbers.length === 5 ? SUCCESS : answer;
      },
    };
    const requests = [...exportRequests([values], numbersIn), ...optional];
    const sent = await sendRequests(requests, { exporter, mustStop: () => undefined });
    assert.deepEqual(sizes, [5, 3]);
    assert.deepEqual([sent.items, sent.refused, sent.stop, sent.rejectedItems], [5, [], undefined, 0]);
    assert.deepEqual(ends.settled, settled);
  }
});
