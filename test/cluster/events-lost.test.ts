/** Lost events, detected by the counts that workers report. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { SETTINGS, signal, started, T0_MS, type Watched, WORKER, watch } from './events.ts';

const { windowMs } = SETTINGS;

function report(on: Watched, atMs: number, event: CeleryEvent): void {
  on.cluster.apply({ ...event, timestampMs: T0_MS + atMs }, T0_MS + atMs);
}

const heartbeat = (processed: number | undefined, pid = 17) =>
  signal('worker-heartbeat', { processed, active: 0, pid });

/** How many tasks workers have started, and how many of their events were lost. */
function sums(on: Watched): { readonly processed: number; readonly lost: number } {
  const sum = { processed: 0, lost: 0 };
  for (const it of on.observed) {
    if (it.kind !== 'worker-progressed') continue;
    assert.equal(it.worker, WORKER);
    assert.ok(it.processed >= 0 && it.eventsLost >= 0);
    sum.processed += it.processed;
    sum.lost += it.eventsLost;
  }
  return sum;
}

interface Work {
  /** Tasks that the worker has started before its first event. */
  readonly before?: number;
  readonly tasks: number;
  readonly everyMs: number;
  readonly skipped?: (index: number) => boolean;
  readonly pid?: number;
  readonly fromMs?: number;
}

/** A worker that starts tasks at a steady rate, with a heartbeat every two seconds and one at the end. */
function work(
  on: Watched,
  { before = 0, tasks, everyMs, skipped = () => false, pid = 17, fromMs = 0 }: Work,
): number {
  const events: (readonly [number, CeleryEvent])[] = [];
  for (let index = 0; index < tasks; index += 1) {
    const atMs = fromMs + index * everyMs + 7;
    if (!skipped(index)) events.push([atMs, started({ uuid: `${pid} ${index}`, clock: index, pid })]);
  }
  const endMs = fromMs + tasks * everyMs + 2_000;
  const type = before === 0 ? 'worker-online' : 'worker-heartbeat';
  events.push([fromMs, signal(type, { processed: before, active: 0, pid })]);
  for (let atMs = fromMs + 2_000; atMs < endMs + 2_000; atMs += 2_000) {
    const begun = Math.min(tasks, Math.ceil(Math.max(0, atMs - fromMs - 7) / everyMs));
    events.push([atMs, heartbeat(before + begun, pid)]);
  }
  events.sort(([one], [other]) => one - other);
  for (const [atMs, event] of events) report(on, atMs, event);
  on.cluster.collect(T0_MS + endMs + 4_000);
  return endMs + 4_000;
}

test('no events are lost at any rate, and what a worker started before it was known is neither lost nor counted', () => {
  for (const everyMs of [1, 10, 333, 5_000]) {
    for (const before of [0, 5_000]) {
      const on = watch();
      work(on, { before, tasks: 2_000, everyMs });
      assert.deepEqual(sums(on), { processed: 2_000, lost: 0 });
    }
  }
});

test('exactly the withheld events are lost: at the beginning, at the end, or anywhere', () => {
  const patterns: readonly ((index: number) => boolean)[] = [
    (index) => index < 37,
    (index) => index >= 2_000 - 37,
    (index) => index % 50 === 3 && index < 37 * 50,
  ];
  for (const skipped of patterns) {
    for (const before of [0, 5_000]) {
      const on = watch();
      work(on, { before, tasks: 2_000, everyMs: 10, skipped });
      assert.deepEqual(sums(on), { processed: 2_000, lost: 37 });
    }
  }
});

test('lost events of a busy worker show while it is busy, except those of the last moments', () => {
  const on = watch();
  work(on, { tasks: 4_000, everyMs: 10, skipped: (index) => index < 1_000 });
  const early = on.observed.filter((it) => it.kind === 'worker-progressed').slice(0, 12);
  const lost = early.reduce((all, it) => all + (it.kind === 'worker-progressed' ? it.eventsLost : 0), 0);
  assert.ok(lost > 900 && lost <= 1_000, `${lost}`);
});

test('a start that arrives before or after the heartbeat that counts it is not lost', () => {
  const on = watch();
  report(on, 0, signal('worker-online', { processed: 0 }));
  // Counted by the heartbeat but stamped after it, as in thread pools; it arrives within the window.
  report(on, 2_000, heartbeat(2));
  on.cluster.apply(started({ uuid: 'u1', timestampMs: T0_MS + 2_030 }), T0_MS + 2_030);
  on.cluster.apply(started({ uuid: 'u2', timestampMs: T0_MS + 1_990 }), T0_MS + 2_000 + windowMs - 1);
  report(on, 4_000, heartbeat(2));
  on.cluster.collect(T0_MS + 6_000);
  assert.equal(sums(on).lost, 0);
});

test('an event that arrives after it was counted as lost changes nothing, and hides no other loss', () => {
  const on = watch();
  report(on, 0, signal('worker-online', { processed: 0 }));
  report(on, 2_000, heartbeat(1));
  report(on, 8_000, heartbeat(1));
  on.cluster.collect(T0_MS + 10_000);
  assert.deepEqual(sums(on), { processed: 1, lost: 1 });
  report(on, 11_000, started({ uuid: 'late' }));
  report(on, 14_000, heartbeat(1));
  on.cluster.collect(T0_MS + 20_000);
  assert.deepEqual(sums(on), { processed: 1, lost: 1 });
});

test('after a restart the count starts over, and the losses of both processes add up', () => {
  const on = watch();
  const endMs = work(on, { tasks: 100, everyMs: 10, skipped: (index) => index < 3 });
  work(on, { tasks: 50, everyMs: 10, pid: 18, fromMs: endMs, skipped: (index) => index < 4 });
  assert.deepEqual(sums(on), { processed: 150, lost: 7 });
});

test('a duplicate start counts once, so it hides no loss', () => {
  const on = watch();
  report(on, 0, signal('worker-online', { processed: 0 }));
  for (const atMs of [500, 501])
    on.cluster.apply(started({ uuid: 'u1', timestampMs: T0_MS + 500 }), T0_MS + atMs);
  for (const atMs of [2_000, 4_000]) report(on, atMs, heartbeat(2));
  on.cluster.collect(T0_MS + 6_000);
  assert.deepEqual(sums(on), { processed: 2, lost: 1 });
});

test('no events are lost of a worker that starts, or is first seen, in a backlog', () => {
  const heldUpMs = 30_000;
  for (const before of [0, 5_000]) {
    const on = watch();
    const apply = (atMs: number, event: CeleryEvent): void =>
      on.cluster.apply({ ...event, timestampMs: T0_MS + atMs }, T0_MS + Math.max(atMs, heldUpMs));
    for (let index = 0; index <= 600; index += 1) {
      if (index % 20 === 0) apply(index * 100, heartbeat(before + index));
      apply(index * 100 + 10, started({ uuid: `${index}` }));
    }
    on.cluster.collect(T0_MS + 70_000);
    assert.deepEqual(sums(on), { processed: 600, lost: 0 });
  }
});

test('no events are lost of a worker whose clock is set back, however far', () => {
  for (const backMs of [200, 450, 1_000, 2_000, 3_900, 4_500, 9_000, 60_000]) {
    for (const atMs of [30_050, 30_950, 31_950]) {
      const on = watch();
      for (let index = 0; index < 1_200; index += 1) {
        const trueMs = index * 50;
        const timestampMs = T0_MS + trueMs - (trueMs >= atMs ? backMs : 0);
        const of = { timestampMs, pid: 17 };
        if (index % 40 === 0)
          on.cluster.apply({ ...heartbeat(index), ...of, clock: 2 * index }, T0_MS + trueMs);
        on.cluster.apply(started({ ...of, uuid: `${index}`, clock: 2 * index + 1 }), T0_MS + trueMs);
      }
      on.cluster.collect(T0_MS + 70_000);
      assert.deepEqual(sums(on), { processed: 1_160, lost: 0 }, `${backMs} at ${atMs}`);
    }
  }
});

test('events withheld after the clock was set back are lost', () => {
  const on = watch();
  for (let index = 0; index < 1_200; index += 1) {
    const timestampMs = T0_MS + index * 50 - (index >= 600 ? 2_000 : 0);
    if (index % 40 === 0)
      on.cluster.apply({ ...heartbeat(index), timestampMs, clock: 2 * index }, timestampMs);
    if (index < 900 || index >= 937)
      on.cluster.apply(started({ timestampMs, uuid: `${index}`, clock: 2 * index + 1 }), timestampMs);
  }
  report(on, 62_000, { ...heartbeat(1_200), clock: 2_400 });
  on.cluster.collect(T0_MS + 70_000);
  assert.deepEqual(sums(on), { processed: 1_200, lost: 37 });
});

test('heartbeats without counts, or with falling counts, show nothing', () => {
  const on = watch();
  work(on, { tasks: 10, everyMs: 10 });
  report(on, 20_000, heartbeat(undefined));
  report(on, 22_000, heartbeat(3));
  on.cluster.collect(T0_MS + 30_000);
  assert.deepEqual(sums(on), { processed: 10, lost: 0 });
});

test('a count that grows faster than any worker works counts nothing, and a new process counts as usual', () => {
  const on = watch();
  const forged = (processed: number, clock: number) =>
    signal('worker-heartbeat', { processed, clock, pid: 99, active: 0 });
  for (let index = 0; index < 20; index += 1) {
    report(on, 4_000 * index, signal('worker-online', { pid: 99, clock: 2 * index }));
    report(on, 4_000 * index + 2_000, forged(1e12, 2 * index + 1));
  }
  on.cluster.collect(T0_MS + 90_000);
  assert.deepEqual(sums(on), { processed: 0, lost: 0 });
  work(on, { tasks: 100, everyMs: 10, fromMs: 100_000, skipped: (index) => index < 3 });
  assert.deepEqual(sums(on), { processed: 100, lost: 3 });
});

test('an implausible count is a base for later ones, from which losses are found again', () => {
  const on = watch();
  for (const [atMs, processed] of [
    [0, 100],
    [2_000, 700_100],
    [4_000, 2_000_000_100],
    [6_000, 2_000_000_107],
  ] as const)
    report(on, atMs, heartbeat(processed));
  on.cluster.collect(T0_MS + 10_000);
  // 100,000 a second are plausible, and five seconds more.
  assert.deepEqual(sums(on), { processed: 700_007, lost: 700_007 });
});

test('after a gap, as many tasks are plausible as fit into it by the clock of the worker', () => {
  const hourMs = 3_600_000;
  const count = (withGap: boolean, sentAfterMs: number) => {
    const on = watch();
    report(on, 0, heartbeat(0));
    on.cluster.collect(T0_MS + 2_000);
    if (withGap) on.cluster.gap();
    const timestampMs = T0_MS + sentAfterMs;
    on.cluster.apply({ ...heartbeat(36_000_000), timestampMs }, T0_MS + hourMs, T0_MS + 4_000);
    on.cluster.flush();
    return sums(on).processed;
  };
  assert.equal(count(true, hourMs), 36_000_000);
  assert.equal(count(true, 2_000), 0);
  assert.equal(count(false, hourMs), 0, 'the clock is forged');
});

test('heartbeats in another order give the same sums', () => {
  const on = watch();
  report(on, 1, started({ uuid: 'u1' }));
  on.cluster.apply(signal('worker-heartbeat', { processed: 2, timestampMs: T0_MS + 400 }), T0_MS + 400);
  on.cluster.apply(signal('worker-online', { processed: 0, timestampMs: T0_MS }), T0_MS + 450);
  on.cluster.collect(T0_MS + 2_000);
  assert.deepEqual(sums(on), { processed: 2, lost: 1 });
});
