/** New series are exported as 0 first, for as long as it takes; with what fails, ends and restarts meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { KINDS_OF_STREAM, ofWorker, STREAMS, type StreamOptions } from './collected-stream.ts';

const W1 = Object.freeze({ worker: 'w1' });
const HOLD_MS = 20_000;

for (const kind of KINDS_OF_STREAM) {
  /** A stream whose clocks agree, unless one is set. */
  const make = (options: StreamOptions = {}) => {
    let [steadyMs, setMs] = [1000, 0];
    const stream = STREAMS[kind]({
      ...{ zeroFirstMs: HOLD_MS, nowMs: () => steadyMs + setMs, steadyMs: () => steadyMs },
      ...options,
    });
    type More = Partial<{ arrives: boolean; retired: string; isLast: boolean }>;
    /** Total, start and end of the only point, that much later; undefined if there is none. */
    function after(ms: number, { arrives = true, retired = '', isLast = false }: More = {}) {
      steadyMs += ms;
      const [point] = stream.attempt(steadyMs + setMs, ofWorker(retired), isLast);
      if (arrives) stream.exported();
      return point && [point.total, point.startMs, point.endMs];
    }
    const totals = (...steps: readonly [ms: number, more?: More][]) =>
      steps.map(([ms, more]) => after(ms, more)?.[0]);
    const setClock = (ms: number): void => {
      setMs = ms;
    };
    return { ...stream, after, totals, setClock };
  };

  test(`${kind}: a new series is 0 until the first 0 is old enough, with the start of its first measurement`, () => {
    const { measure, after } = make();
    measure(2, W1);
    assert.deepEqual(after(5000), [0, 1000, 6000]);
    measure(3, W1);
    assert.deepEqual(after(10_000), [0, 1000, 16_000]);
    // Timers drift: a little less than the hold is enough.
    assert.deepEqual(after(9500), [5, 1000, 25_500]);
    measure(1, W1);
    assert.deepEqual(after(100), [6, 1000, 25_600]);
  });

  test(`${kind}: with a hold of 0 one is enough, and without a hold there is none`, () => {
    const once = make({ zeroFirstMs: 0 });
    once.measure(2, W1);
    assert.deepEqual(once.totals([1], [1]), [0, 2]);
    const off = make({ zeroFirstMs: undefined });
    off.measure(2, W1);
    assert.deepEqual(off.totals([1], [1]), [2, 2]);
  });

  test(`${kind}: a 0 counts from when it has arrived`, () => {
    const { measure, totals } = make();
    measure(2, W1);
    assert.deepEqual(totals([5000, { arrives: false }], [30_000, { arrives: false }], [1, {}]), [0, 0, 0]);
    assert.deepEqual(totals([10_000], [10_000]), [0, 2]);
  });

  test(`${kind}: a value that was exported is never 0 again, whatever fails later`, () => {
    const { measure, totals } = make({ zeroFirstMs: 0 });
    measure(2, W1);
    assert.deepEqual(
      totals([1], [1, { arrives: false }], [1], [100_000, { arrives: false }], [1]),
      [0, 2, 2, 2, 2],
    );
  });

  test(`${kind}: a retired series ends only after its value was exported`, () => {
    const { measure, totals, tally } = make({ zeroFirstMs: 10 });
    measure(2, W1);
    assert.deepEqual(totals([1], [1, { retired: 'w1' }], [20], [1]), [0, 0, 2, undefined]);
    assert.equal(tally().retired, 1);
    // It comes back as another one.
    measure(7, W1);
    assert.deepEqual(totals([1], [20]), [0, 7]);
  });

  test(`${kind}: the last collection holds nothing back`, () => {
    const { measure, totals } = make();
    measure(2, W1);
    assert.deepEqual(totals([1], [1, { isLast: true, arrives: false }], [1, { isLast: true }]), [0, 2, 2]);
    const fresh = make();
    fresh.measure(2, W1);
    assert.deepEqual(fresh.totals([1, { isLast: true }]), [2]);
  });

  test(`${kind}: a series whose start is lost with the clock restarts at 0`, () => {
    const { measure, after, totals, setClock } = make({ zeroFirstMs: 0 });
    measure(2, W1);
    assert.deepEqual(totals([10_000], [10]), [0, 2]);
    setClock(-100_000);
    measure(3, W1);
    assert.deepEqual(after(10)?.[0], 5, 'everything so far, from the old start');
    measure(4, W1);
    assert.deepEqual(totals([10], [10]), [0, 4]);
  });

  test(`${kind}: what is exported as 0 keeps its exemplars`, () => {
    const { measure, bindExemplars, totals, exemplars } = make({ zeroFirstMs: 0 });
    const offer = bindExemplars(W1);
    measure(2, W1);
    offer(2, { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: {} });
    totals([1]);
    assert.deepEqual(exemplars(), [[W1, []]]);
    totals([1]);
    assert.equal(exemplars()[0]?.[1].length, 1);
  });

  test(`${kind}: delta temporality has its values at once`, () => {
    const { measure, totals } = make({ temporality: AggregationTemporality.DELTA });
    measure(2, W1);
    assert.deepEqual(totals([1], [1]), [2, undefined]);
  });
}

test('an up-down counter has its values at once', () => {
  const { measure, attempt } = STREAMS['up-down counter']({ zeroFirstMs: HOLD_MS });
  measure(-2);
  assert.equal(attempt(10)[0]?.total, -2);
});
