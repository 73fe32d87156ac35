/** Which tasks begin traces of their own, and how much is remembered for that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewTask } from '../../src/tracer/ancestry/finished.ts';
import { TraceBounds } from '../../src/tracer/trace-bounds.ts';
import type { TraceSettings } from '../../src/tracer/trace-settings.ts';
import { run, SETTINGS, sent, T0_MS, tracer, UUID } from './finished-facts.ts';

const TRACES_MAX = 10_000;

function bounds(settings: Partial<TraceSettings> = {}): TraceBounds {
  return new TraceBounds({ ...SETTINGS, ...settings });
}

function task(of: Partial<NewTask> = {}): NewTask {
  return { name: 'shop.charge', traceRootId: UUID, delayMs: 0, atMs: T0_MS, ...of };
}

/** How many of so many tasks stay in the trace. */
function staying(made: { beginsTrace: (of: NewTask) => boolean }, count: number, of: Partial<NewTask> = {}) {
  return Array.from({ length: count }, () => made.beginsTrace(task(of))).filter((begins) => !begins).length;
}

test('a long delay', () => {
  const made = bounds({ maxDelayMs: 1000 });
  assert.equal(made.beginsTrace(task({ delayMs: 1000 })), false);
  assert.equal(made.beginsTrace(task({ delayMs: 1001 })), true);
});

test('a name', () => {
  const made = bounds({ newTraceFor: ['beat.*', '*.backfill?'] });
  const names = ['beat.tick', 'a.backfill1', 'a.backfill', 'shop.beat.x'];
  assert.deepEqual(
    names.map((name) => made.beginsTrace(task({ name }))),
    [true, true, false, false],
  );
});

test('a wide trace: with its root it has no more tasks than spans are allowed', () => {
  const made = bounds({ maxSpans: 5 });
  assert.equal(staying(made, 100), 4);
  assert.equal(staying(made, 3, { traceRootId: 'another' }), 3);
});

test('sendings and further runs count too, as soon as they are told', () => {
  const made = tracer({ maxSpans: 6, sampler: { kind: 'always_off' } });
  assert.equal(made.beginsTrace(task()), false);
  made.trace(run({ sent: sent() }));
  made.trace(run({ retries: 1, previous: { retries: 0, delivery: 0, link: 'retry_of' } }));
  assert.equal(staying(made, 100), 2);
});

test('an old trace, however often it is asked for', () => {
  const made = bounds({ maxAgeMs: 1000 });
  assert.equal(made.beginsTrace(task()), false);
  assert.equal(made.beginsTrace(task({ atMs: T0_MS + 1000 })), false);
  assert.equal(staying(made, 10, { atMs: T0_MS + 1001 }), 0);
  assert.equal(made.beginsTrace(task({ atMs: Number.NaN })), false);
});

test('a bounded number of traces is remembered, those in use longest', () => {
  const made = bounds({ maxSpans: 3 });
  assert.equal(staying(made, 3), 2);
  for (let n = 0; n < 30_000; n += 1) {
    made.beginsTrace(task({ traceRootId: `root-${n}` }));
    if (n % 1000 === 0) assert.equal(made.beginsTrace(task()), true, `${n}`);
    assert.ok(made.size <= TRACES_MAX, `${made.size}`);
  }
  // Forgotten ones count from zero again.
  assert.equal(made.beginsTrace(task({ traceRootId: 'root-0' })), false);
});

test('roots without children are not remembered', () => {
  const made = bounds();
  for (let n = 0; n < 100; n += 1) made.add(`root-${n}`, 2);
  assert.equal(made.size, 0);
});

test('long ids do not fill the memory, and stay apart', () => {
  const made = bounds({ maxSpans: 2 });
  const long = 'x'.repeat(200_000);
  assert.equal(made.beginsTrace(task({ traceRootId: long })), false);
  assert.equal(made.beginsTrace(task({ traceRootId: `${long}y` })), false);
  assert.equal(made.beginsTrace(task({ traceRootId: long })), true);
  for (const traceRootId of ['__proto__', 'constructor', '', '0', '12345', '#12345']) {
    assert.equal(made.beginsTrace(task({ traceRootId })), false, traceRootId);
  }
});
