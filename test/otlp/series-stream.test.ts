import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Attributes, DiagLogLevel, diag, ValueType } from '@opentelemetry/api';
import { AggregationTemporality } from '@opentelemetry/sdk-metrics';
import { explicitBuckets } from '../../src/otlp/explicit-buckets.ts';
import { MONOTONIC_SUM } from '../../src/otlp/monotonic-sum.ts';
import { createSeriesStream, type SeriesStreamOptions } from '../../src/otlp/series-stream.ts';
import { totals } from './reading.ts';

const { CUMULATIVE, DELTA } = AggregationTemporality;
const NONE = (): boolean => false;

/** A stream, and of what it collects what most tests compare. */
function streamOf<V>(options: Pick<SeriesStreamOptions<V>, 'aggregation'> & Partial<SeriesStreamOptions<V>>) {
  const stream = createSeriesStream({
    descriptor: { name: 'm', description: '', unit: 's', valueType: ValueType.DOUBLE },
    temporality: CUMULATIVE,
    limit: 2000,
    nowMs: () => 0,
    ...options,
  });
  const attempt = (atMs = 0, isRetired: (attributes: Attributes) => boolean = NONE) =>
    totals(stream.collect(atMs, isRetired));
  const collect = (...of: Parameters<typeof attempt>) => {
    const collected = attempt(...of);
    stream.exported();
    return collected;
  };
  return {
    measure: stream.measure,
    collect,
    exported: stream.exported,
    /** What is collected for an export of which it is not known yet how it ends: attributes and total of each point. */
    attempt: (isRetired?: (attributes: Attributes) => boolean) =>
      attempt(0, isRetired).map(({ attributes, total }) => [attributes, total]),
    /** Attributes and total of each point. */
    read: (isRetired?: (attributes: Attributes) => boolean) =>
      collect(0, isRetired).map(({ attributes, total }) => [attributes, total]),
  };
}

/** What the SDK tells of itself at the level `warn`. */
function warnings(t: TestContext): readonly string[] {
  const told: string[] = [];
  const silent = (): void => {};
  const logger = { error: silent, info: silent, debug: silent, verbose: silent };
  diag.setLogger(
    { ...logger, warn: (message) => told.push(message) },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  t.after(() => diag.disable());
  return told;
}

const OVERFLOW = { 'otel.metric.overflow': true };
const ofWorker =
  (...workers: readonly string[]) =>
  (attributes: Attributes): boolean =>
    workers.includes(String(attributes['worker']));
const frozen = (worker: string): Attributes => Object.freeze({ worker });

/** The same stream with each aggregation: it may not matter to it which. */
const INSTRUMENTS = {
  counter: (options: Partial<SeriesStreamOptions<unknown>> = {}) =>
    streamOf({ ...options, aggregation: MONOTONIC_SUM }),
  histogram: (options: Partial<SeriesStreamOptions<unknown>> = {}) =>
    streamOf({ ...options, aggregation: explicitBuckets([1, 2]) }),
} as const;

for (const kind of ['counter', 'histogram'] as const) {
  const make = INSTRUMENTS[kind];

  test(`${kind}: what is not a number or not finite is left out, also as the first of a series`, () => {
    const { measure, read } = make();
    for (const value of [Number.NaN, Infinity]) measure(value, { task: 'a' });
    assert.deepEqual(read(), []);
    measure(1, { task: 'a' });
    for (const value of [Number.NaN, Infinity]) measure(value, { task: 'a' });
    assert.deepEqual(read(), [[{ task: 'a' }, 1]]);
  });

  test(`${kind}: negative values are left out with a warning, fractions of whole numbers cut off with another`, (t) => {
    const told = warnings(t);
    const { measure, read } = make({
      descriptor: { name: 'tries', description: '', unit: '', valueType: ValueType.INT },
    });
    for (const value of [-1, -Infinity, 1.5]) measure(value);
    assert.deepEqual(read(), [[{}, 1]]);
    assert.deepEqual(
      told.map((line) => line.split(':')[0]),
      [
        `negative value provided to ${kind} tries`,
        `negative value provided to ${kind} tries`,
        'INT value type cannot accept a floating-point value for tries, ignoring the fractional digits.',
      ],
    );
  });

  test(`${kind}: equal attributes are one series, in whatever order and object`, () => {
    const { measure, read } = make();
    const first = Object.freeze({ task: 'a', queue: 'q' });
    for (const attributes of [first, { ...first }, { queue: 'q', task: 'a' }, first]) measure(1, attributes);
    measure(1, { task: 'a', queue: 'Q' });
    assert.deepEqual(read(), [
      [{ task: 'a', queue: 'q' }, 4],
      [{ task: 'a', queue: 'Q' }, 1],
    ]);
  });

  test(`${kind}: an object that is changed afterwards changes neither that series nor stays in it`, () => {
    const { measure, read } = make();
    const attributes: Attributes = { task: 'a' };
    measure(1, attributes);
    attributes['task'] = 'b';
    measure(1, attributes);
    measure(1, attributes);
    assert.deepEqual(read(), [
      [{ task: 'a' }, 1],
      [{ task: 'b' }, 2],
    ]);
  });

  test(`${kind}: a frozen object that is used again is known without being read`, () => {
    let reads = 0;
    const watched: Attributes = new Proxy(Object.freeze({ task: 'a' }), {
      ownKeys(target) {
        reads += 1;
        return Reflect.ownKeys(target);
      },
    });
    const { measure, read, collect } = make();
    measure(1, watched);
    const readsOfFirst = reads;
    assert.ok(readsOfFirst > 0);
    for (let index = 0; index < 100; index += 1) measure(1, watched);
    collect();
    measure(1, watched);
    assert.equal(reads, readsOfFirst);
    assert.deepEqual(read(), [[{ task: 'a' }, 102]]);
  });

  test(`${kind}: the limit holds with new series in every interval, and nothing is lost in it`, () => {
    const { measure, collect } = make({ limit: 10 });
    const shared = Array.from({ length: 50 }, (_, index) => Object.freeze({ task: `t${index}` }));
    let measured = 0;
    for (let interval = 0; interval < 20; interval += 1) {
      for (let index = 0; index < 8; index += 1) {
        measure(1, { worker: `w${interval}-${index}` });
        measure(1, shared[(interval + index) % shared.length]);
        measured += 2;
      }
      const points = collect();
      assert.equal(points.length, 10);
      assert.deepEqual(points.at(-1)?.attributes, OVERFLOW);
      assert.equal(
        points.reduce((sum, { total }) => sum + total, 0),
        measured,
      );
    }
  });

  test(`${kind}: under delta what overflowed once has a place of its own in an interval with room`, () => {
    const { measure, read } = make({ temporality: DELTA, limit: 3 });
    const attributes = ['a', 'b', 'c'].map((task) => Object.freeze({ task }));
    for (const each of attributes) measure(1, each);
    assert.deepEqual(read(), [
      [{ task: 'a' }, 1],
      [{ task: 'b' }, 1],
      [OVERFLOW, 1],
    ]);
    // All of them fit again only if the overflow of before takes no place.
    for (const each of attributes.slice(1)) measure(1, each);
    assert.deepEqual(read(), [
      [{ task: 'b' }, 1],
      [{ task: 'c' }, 1],
    ]);
    for (const task of ['d', 'e', 'f', 'g']) measure(1, { task });
    assert.equal(read().length, 3);
    assert.deepEqual(read(), []);
  });

  test(`${kind}: a cumulative series starts with its first measurement; a delta goes on from the last collection`, () => {
    const spans = (temporality: AggregationTemporality): readonly string[] => {
      let nowMs = 1000;
      const { measure, collect } = make({ temporality, nowMs: () => nowMs });
      const read = (atMs: number): string => {
        const [point] = collect(atMs);
        return point === undefined ? 'none' : `${point.startMs}–${point.endMs}`;
      };
      measure(1);
      const found = [read(2000)];
      nowMs = 2500;
      measure(1);
      found.push(read(3000), read(4000));
      nowMs = 4500;
      measure(1);
      return [...found, read(5000)];
    };
    assert.deepEqual(spans(CUMULATIVE), ['1000–2000', '1000–3000', '1000–4000', '1000–5000']);
    // Where nothing was exported at 4000 there is nothing to go on from.
    assert.deepEqual(spans(DELTA), ['1000–2000', '2000–3000', 'none', '4500–5000']);
  });

  test(`${kind}: a retired series without news is gone at once, one with news after they were collected`, () => {
    const { measure, read } = make();
    for (const worker of ['w1', 'w2', 'w3']) measure(1, frozen(worker));
    read();
    measure(2, frozen('w2'));
    assert.deepEqual(read(ofWorker('w1', 'w2')), [
      [{ worker: 'w2' }, 3],
      [{ worker: 'w3' }, 1],
    ]);
    assert.deepEqual(read(), [[{ worker: 'w3' }, 1]]);
  });

  test(`${kind}: a retired series stays until what was measured of it has been exported`, () => {
    const { measure, attempt, exported } = make();
    const isRetired = ofWorker('w1');
    measure(1, frozen('w1'));
    assert.deepEqual(attempt(), [[{ worker: 'w1' }, 1]]);
    assert.deepEqual(attempt(isRetired), [[{ worker: 'w1' }, 1]], 'the export failed');
    assert.deepEqual(attempt(isRetired), [[{ worker: 'w1' }, 1]], 'it failed again');
    exported();
    assert.deepEqual(attempt(), []);
  });

  test(`${kind}: a retired series that is measured while it is exported goes on`, () => {
    const { measure, attempt, exported } = make();
    measure(1, frozen('w1'));
    assert.deepEqual(attempt(ofWorker('w1')), [[{ worker: 'w1' }, 1]]);
    measure(2, frozen('w1'));
    exported();
    assert.deepEqual(attempt(), [[{ worker: 'w1' }, 3]]);
  });

  test(`${kind}: a series that is new has news, even if it is 0`, () => {
    const { measure, read } = make();
    measure(0, frozen('w1'));
    assert.deepEqual(read(ofWorker('w1')), [[{ worker: 'w1' }, 0]]);
    assert.deepEqual(read(), []);
  });

  test(`${kind}: a retired series that comes back starts anew, by the same object too`, () => {
    let nowMs = 1000;
    const { measure, collect } = make({ nowMs: () => nowMs });
    const attributes = frozen('w1');
    measure(5, attributes);
    collect(2000);
    assert.deepEqual(collect(3000, ofWorker('w1')), []);
    nowMs = 4000;
    measure(2, attributes);
    const again = { attributes, total: 2, startMs: 4000 };
    assert.deepEqual(collect(5000), [{ ...again, endMs: 5000 }]);
    assert.deepEqual(collect(6000), [{ ...again, endMs: 6000 }], 'it is retired no longer');
  });

  test(`${kind}: the place of a retired series is free, also for one that has overflowed, whose past stays there`, () => {
    const { measure, read } = make({ limit: 3 });
    const all = ['w1', 'w2', 'w3', 'w4'].map(frozen);
    for (const attributes of all) measure(1, attributes);
    read();
    assert.deepEqual(read(ofWorker('w1')), [
      [{ worker: 'w2' }, 1],
      [OVERFLOW, 2],
    ]);
    for (const attributes of all.slice(1).reverse()) measure(8, attributes);
    assert.deepEqual(read(), [
      [{ worker: 'w2' }, 9],
      [OVERFLOW, 10],
      [{ worker: 'w4' }, 8],
    ]);
  });

  test(`${kind}: the point of the overflow never ends, and what is in it stays`, () => {
    const { measure, read } = make({ limit: 2 });
    for (const worker of ['w1', 'w2']) measure(1, frozen(worker));
    read();
    const all = () => true;
    assert.deepEqual(read(all), [[OVERFLOW, 1]]);
    for (const worker of ['w3', 'w4']) measure(1, frozen(worker));
    assert.deepEqual(read(all), [
      [OVERFLOW, 2],
      [{ worker: 'w3' }, 1],
    ]);
    assert.deepEqual(read(), [[OVERFLOW, 2]]);
  });

  test(`${kind}: under delta retiring changes nothing`, () => {
    const { measure, read } = make({ temporality: DELTA });
    const attributes = frozen('w1');
    measure(1, attributes);
    assert.deepEqual(read(ofWorker('w1')), [[attributes, 1]]);
    assert.deepEqual(read(ofWorker('w1')), []);
    measure(2, attributes);
    assert.deepEqual(read(ofWorker('w1')), [[attributes, 2]]);
  });
}

test('workers that come and go for ever overflow nothing if they are retired', () => {
  const { measure, read } = INSTRUMENTS.counter({ limit: 20 });
  for (let index = 0; index < 10_000; index += 1) {
    measure(1, frozen(`w${index}`));
    const points = read(ofWorker(`w${index - 10}`));
    assert.equal(points.length, Math.min(index + 1, 10));
    assert.deepEqual(points.at(-1), [{ worker: `w${index}` }, 1]);
  }
});
