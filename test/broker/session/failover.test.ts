/** The order of addresses and the waits, with fixed randomness. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AttemptOutcome, Failover } from '../../../src/broker/session/failover.ts';
import { fc } from '../../seed.ts';

const FULL_WAITS = () => 1;

/** The address of each attempt, after the wait before it (ms), given the outcomes. */
function walk(failover: Failover<string>, outcomes: readonly AttemptOutcome[]): string {
  const steps = [failover.url];
  for (const outcome of outcomes) {
    const waitMs = failover.next(outcome);
    steps.push(waitMs === 0 ? failover.url : `${waitMs} ${failover.url}`);
  }
  return steps.join(', ');
}

const failures = (count: number): AttemptOutcome[] => Array.from({ length: count }, () => 'failed');

test('one address is retried after 2, 4 … 30 s, forever', () => {
  const failover = new Failover(['a'], 'round-robin', FULL_WAITS);
  const waitsS = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 30, 30];
  const expected = ['a', ...waitsS.map((seconds) => `${seconds * 1000} a`)].join(', ');
  assert.equal(walk(failover, failures(17)), expected);
});

test('every address is tried at once before the first wait', () => {
  const failover = new Failover(['a', 'b', 'c'], 'round-robin', FULL_WAITS);
  assert.equal(walk(failover, failures(7)), 'a, b, c, 2000 a, b, c, 4000 a, b');
});

test('up to half of a wait is subtracted at random', () => {
  assert.equal(new Failover(['a'], 'round-robin', () => 0).next('failed'), 1000);
  assert.equal(new Failover(['a'], 'round-robin', () => 0.5).next('failed'), 1500);
});

test('after a broken session the same address is next at once, at the start of a full round', () => {
  for (const broke of ['healthy', 'brief'] as const) {
    const failover = new Failover(['a', 'b', 'c'], 'round-robin', FULL_WAITS);
    assert.equal(walk(failover, ['failed', broke, ...failures(4)]), 'a, b, b, c, a, 2000 b, c');
  }
});

test('only a healthy session resets the waits, a bare connect does not', () => {
  const after = (broke: AttemptOutcome) => {
    const failover = new Failover(['a'], 'round-robin', FULL_WAITS);
    return walk(failover, [...failures(3), broke, 'failed'])
      .split(', ')
      .at(-1);
  };
  assert.equal(after('healthy'), '2000 a');
  assert.equal(after('brief'), '8000 a');
});

test('a broker that closes each session at once is not retried without a pause', () => {
  const failover = new Failover(['a'], 'round-robin', FULL_WAITS);
  const first = walk(failover, ['brief', 'brief', 'brief', 'failed']);
  const then = walk(failover, ['brief', 'brief', 'healthy', 'brief']);
  assert.deepEqual([first, then], ['a, a, 2000 a, 4000 a, 6000 a', 'a, a, 4000 a, a, a']);
});

test('after brief sessions the waits are short', () => {
  const failover = new Failover(['a'], 'round-robin', FULL_WAITS);
  walk(failover, failures(20));
  const brief = Array.from({ length: 20 }, (): AttemptOutcome => 'brief');
  assert.equal(walk(failover, brief), ['a', 'a', ...Array(19).fill('4000 a')].join(', '));
  assert.equal(failover.next('failed'), 30_000);
});

test('an address that is reachable again is next, and the waits are reset', () => {
  const failover = new Failover(['a', 'b', 'c'], 'round-robin', FULL_WAITS);
  walk(failover, failures(9));
  failover.recovered('c');
  assert.equal(walk(failover, failures(3)), 'c, a, b, 2000 c');
});

test('shuffle takes a new order in each round', () => {
  const rolls = [0.9, 0, 0, 0, 0.9, 0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5];
  const failover = new Failover(['a', 'b', 'c'], 'shuffle', () => rolls.shift() ?? 0);
  const steps = walk(failover, failures(5))
    .split(', ')
    .map((step) => step.slice(-1));
  assert.deepEqual(steps.slice(0, 3).toSorted(), ['a', 'b', 'c']);
  assert.deepEqual(steps.slice(3, 6).toSorted(), ['a', 'b', 'c']);
  assert.notDeepEqual(steps.slice(0, 3), steps.slice(3, 6));
});

test('in any case, each round of failures tries every address once, and waits stay in bounds', () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const outcomes = fc.array(fc.constantFrom<AttemptOutcome>('failed', 'failed', 'failed', 'healthy'));
  const strategy = fc.constantFrom('round-robin' as const, 'shuffle' as const);
  fc.assert(
    fc.property(fc.infiniteStream(random), outcomes, strategy, (randoms, given, how) => {
      const failover = new Failover(['a', 'b', 'c'], how, () => randoms.next().value ?? 0);
      let cycle: string[] = [];
      for (const outcome of given) {
        cycle.push(failover.url);
        const waitMs = failover.next(outcome);
        assert.ok(waitMs === 0 || (waitMs >= 1000 && waitMs <= 30_000));
        if (waitMs > 0) assert.deepEqual(cycle.toSorted(), ['a', 'b', 'c']);
        if (outcome !== 'failed' || waitMs > 0) cycle = [];
      }
    }),
  );
});
