import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExportRequest } from '../../../src/otlp/export/export-request.ts';
import { ALMOST_1, loopOf } from './looping.ts';
import { FakeSource, REFUSED, SUCCESS, UNAVAILABLE } from './scripted-exporter.ts';

test('the first export is one interval after the start, then one follows at each interval', async (t) => {
  const { start, time, sentAtMs } = loopOf(t);
  start([new FakeSource('shop')]);
  await time.pass(4500);
  assert.deepEqual(sentAtMs(), [1000, 2000, 3000, 4000]);
});

test('before the first large request the serialiser is warmed up, and requests do not change', async (t) => {
  const { start, time, sent } = loopOf(t);
  const source = new FakeSource('shop', [150]);
  start([source]);
  await time.pass(1500);
  assert.deepEqual(source.reported, ['built 0/0', 'built 0/1', 'built 0/2', 'built 0', 'exported 0']);
  assert.deepEqual(
    sent.map(([, request]) => request),
    ['shop 0'],
  );
});

test('exports do not overlap: missed intervals are skipped', async (t) => {
  const { start, time, sentAtMs, exporter } = loopOf(t, {
    async answer() {
      await delay(2300);
      return SUCCESS;
    },
  });
  start([new FakeSource('shop')]);
  await time.pass(9500);
  assert.deepEqual(sentAtMs(), [1000, 4000, 7000]);
  assert.equal(exporter.mostAtOnce, 1);
});

test('a source whose backend is slow costs the others no export', async (t) => {
  const { start, time, sent } = loopOf(t, {
    answer: (request) => (request.startsWith('hanging') ? new Promise(() => {}) : SUCCESS),
  });
  start(
    ['hanging 1', 'hanging 2', 'hanging 3', 'hanging 4', 'shop', 'mail'].map((name) => new FakeSource(name)),
  );
  await time.pass(8500);
  const shop = sent.filter(([, request]) => request === 'shop 0').map(([atMs]) => atMs);
  // The first tick may find all hands with those that hang; they are busy with them, and the next tick has its own.
  assert.deepEqual(shop.slice(-7), [2000, 3000, 4000, 5000, 6000, 7000, 8000]);
  assert.equal(sent.filter(([, request]) => request.startsWith('hanging')).length, 4, 'once each');
});

test('if exports are slow, every source has its first export before any has its second', async (t) => {
  const { start, time, sent } = loopOf(t, {
    async answer() {
      await delay(900);
      return SUCCESS;
    },
  });
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  start(names.map((name) => new FakeSource(name)));
  await time.pass(12_000);
  const turns = sent.map(([, request]) => request.slice(0, -2));
  assert.ok(turns.length > 60, `${turns.length} exports`);
  for (const name of names) {
    const own = [-1, ...turns.flatMap((turn, index) => (turn === name ? [index] : [])), turns.length];
    const gaps = own.slice(1).map((index, nth) => index - (own[nth] ?? 0));
    assert.ok(Math.max(...gaps) <= names.length + 4, `${name}: ${gaps.join(', ')}`);
  }
});

test('a source that was skipped because of an unavailable backend is first at the next interval', async (t) => {
  const { start, time, sent } = loopOf(t, { random: () => ALMOST_1, answer: () => UNAVAILABLE });
  start(Array.from({ length: 8 }, (_, index) => new FakeSource(`s${index}`)));
  await time.pass(2500);
  const byTime = Map.groupBy(sent, ([atMs]) => atMs);
  const [first = [], second = []] = [...byTime.values()].map((requests) =>
    requests.map(([, request]) => request),
  );
  assert.equal(second[0], `s${first.length} 0`);
});

for (const [random, factor] of [
  [0, 0.75],
  [0.5, 0.875],
  [ALMOST_1, 1],
] as const) {
  test(`a failed export is retried after 1, 2, 4 … seconds, times ${factor}, besides the intervals`, async (t) => {
    const { start, time, sentAtMs } = loopOf(t, {
      intervalMs: 16_000,
      random: () => random,
      answer: () => UNAVAILABLE,
    });
    start([new FakeSource('shop')]);
    await time.pass(32_500);
    let dueMs = 16_000;
    const expected = [dueMs];
    for (let waitMs = 1000; dueMs + waitMs * factor < 32_000; waitMs *= 2) {
      dueMs += waitMs * factor;
      expected.push(dueMs);
    }
    assert.deepEqual(sentAtMs().map(Math.round), [...expected, 32_000]);
  });
}

test('the wait is never longer than the interval', async (t) => {
  const { start, time, sentAtMs } = loopOf(t, {
    intervalMs: 3000,
    random: () => 0,
    answer: () => UNAVAILABLE,
  });
  start([new FakeSource('shop')]);
  await time.pass(16_500);
  // After 3000: 750, 1500; then three quarters of 3000, at most.
  assert.deepEqual(sentAtMs(), [3000, 3750, 5250, 6000, 8250, 9000, 11_250, 12_000, 14_250, 15_000]);
});

test('a timer that fires a little early makes no attempt just before the interval', async (t) => {
  const { start, time, sentAtMs } = loopOf(t, {
    intervalMs: 16_000,
    behindMs: (nowMs) => (nowMs > 0 && nowMs % 16_000 === 0 ? 0.9 : 0),
    answer: () => UNAVAILABLE,
  });
  start([new FakeSource('shop')]);
  await time.pass(33_000);
  const gaps = sentAtMs().map((atMs, index) => atMs - (sentAtMs()[index - 1] ?? 0));
  assert.ok(Math.min(...gaps) > 500, `gaps of ${gaps.join(', ')}`);
});

test('only failed sources are retried, until they succeed', async (t) => {
  let failing = 3;
  const { start, time, sent, outcomes } = loopOf(t, {
    intervalMs: 16_000,
    answer(request) {
      if (request !== 'b 0') return SUCCESS;
      failing -= 1;
      return failing < 0 ? SUCCESS : UNAVAILABLE;
    },
  });
  start(['a', 'b', 'c'].map((name) => new FakeSource(name)));
  await time.pass(31_900);
  assert.deepEqual(
    sent.map(([atMs, request]) => `${Math.round(atMs / 1000)} ${request}`),
    ['16 a 0', '16 b 0', '16 c 0', '17 b 0', '19 b 0', '23 b 0'],
  );
  assert.equal(outcomes.at(-1), 'b success');
});

test('a refused export waits for the next interval', async (t) => {
  const { start, time, sent } = loopOf(t, {
    intervalMs: 16_000,
    answer: (request) => (request === 'b 0' ? REFUSED : SUCCESS),
  });
  start(['a', 'b'].map((name) => new FakeSource(name)));
  await time.pass(32_900);
  assert.deepEqual(
    sent.map(([atMs, request]) => `${Math.round(atMs / 1000)} ${request}`),
    ['16 a 0', '16 b 0', '32 a 0', '32 b 0'],
  );
});

test('after a success the waits are reset', async (t) => {
  let requests = 0;
  const { start, time, sentAtMs } = loopOf(t, {
    intervalMs: 10_000,
    answer() {
      requests += 1;
      return [1, 2, 4, 5].includes(requests) ? UNAVAILABLE : SUCCESS;
    },
  });
  start([new FakeSource('shop')]);
  await time.pass(29_000);
  assert.deepEqual(sentAtMs().map(Math.round), [10_000, 11_000, 13_000, 20_000, 21_000, 23_000]);
});

/** Takes so long to be collected. */
class SlowSource extends FakeSource {
  readonly #collectMs: number;
  underWay = 0;
  mostAtOnce = 0;

  constructor(name: string, collectMs: number, items?: readonly number[]) {
    super(name, items);
    this.#collectMs = collectMs;
  }

  override async collect(): Promise<readonly ExportRequest<string>[]> {
    this.underWay += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.underWay);
    await delay(this.#collectMs);
    this.underWay -= 1;
    return super.collect();
  }
}

test('however long a collection takes, all of it is sent, and the next export begins on time', async (t) => {
  const { start, time, sentAtMs, outcomes } = loopOf(t, { intervalMs: 1000 });
  const source = new SlowSource('shop', 2300, [1, 1]);
  start([source]);
  await time.pass(7900);
  assert.deepEqual(sentAtMs(), [3300, 3300, 6300, 6300]);
  assert.deepEqual(outcomes, ['shop success', 'shop success']);
  assert.equal(source.mostAtOnce, 1);
});

test('a source that is slow to collect costs the others no export', async (t) => {
  const { start, time, sent } = loopOf(t);
  start([new SlowSource('slow', 60_000), new FakeSource('shop')]);
  await time.pass(5500);
  assert.deepEqual(
    sent,
    [1000, 2000, 3000, 4000, 5000].map((atMs) => [atMs, 'shop 0']),
  );
});

test('an unanswered request ends a long export, a refused one does not', async (t) => {
  const { start, time, sent, outcomes } = loopOf(t, {
    intervalMs: 10_000,
    async answer(request) {
      await delay(400);
      return request === 'shop 6' ? UNAVAILABLE : request === 'shop 4' ? REFUSED : SUCCESS;
    },
  });
  start([new FakeSource('shop', Array(9).fill(1))]);
  await time.pass(12_900);
  assert.deepEqual(
    sent.map(([, request]) => request),
    Array.from({ length: 7 }, (_, index) => `shop ${index}`),
  );
  assert.deepEqual(outcomes, ['shop failure']);
});

test('two exports never overlap, even with retries in between', async (t) => {
  const { start, time, exporter } = loopOf(t, {
    intervalMs: 700,
    async answer(request) {
      await delay(400);
      return request === 'b 0' ? UNAVAILABLE : SUCCESS;
    },
  });
  start(['a', 'b'].map((name) => new FakeSource(name)));
  const seen: string[] = [];
  for (let step = 0; step < 500; step += 1) {
    await time.pass(10);
    if (exporter.underWay > 0) seen.push(exporter.sent.slice(-exporter.underWay).join());
  }
  assert.ok(exporter.sent.length > 10);
  assert.ok(exporter.mostAtOnce <= 2, 'one of each source');
  for (const underWay of seen) assert.ok(!/(?<name>\w) 0,\k<name> 0/u.test(underWay), underWay);
});
