/** Whatever the order of events, and whichever are lost or duplicated, observations stay consistent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent, TaskEvent } from '../../src/celery/event.ts';
import type { ClusterView, Observation } from '../../src/cluster/observation.ts';
import { fc } from '../seed.ts';
import {
  cancelled,
  failed,
  line,
  observe,
  received,
  rejected,
  retried,
  revoked,
  SETTINGS,
  sent,
  signal,
  spaced,
  started,
  succeeded,
  T0_MS,
  watch,
} from './events.ts';

const TASKS_MAX = 3;
const WORKERS_MAX = 2;
const HELD_MAX = 5;
const SENT_APART_MS = 20;
const END = /^(?:succeeded|failed|retried|rejected|revoked|cancelled) /u;

const names = fc.constantFrom('shop.pay', 'shop.ship', '');
const about = fc.record({
  uuid: fc.constantFrom('u1', 'u2', 'u3', 'u4', '__proto__'),
  hostname: fc.constantFrom('w1@shop', 'w2@shop', 'w3@shop', 'gen7@shop'),
  timestampMs: fc.integer({ min: 1, max: 1_000_000 }),
});
const taskEvents: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc
    .tuple(about, names, fc.constantFrom('orders', ''))
    .map(([of, name, queue]) => sent({ ...of, name, queue })),
  fc.tuple(about, names).map(([of, name]) => received({ ...of, name })),
  about.map((of) => started(of)),
  fc.tuple(about, fc.constantFrom(0.25, undefined)).map(([of, runtimeS]) => succeeded({ ...of, runtimeS })),
  fc.tuple(about, fc.boolean()).map(([of, rejection]) => failed('KeyError', { ...of, rejection })),
  about.map((of) => retried('KeyError', of)),
  fc.tuple(about, fc.boolean()).map(([of, requeue]) => rejected(requeue, of)),
  fc
    .tuple(about, fc.boolean(), fc.boolean())
    .map(([of, expired, terminated]) => revoked({ ...of, expired, terminated })),
  about.map((of) => cancelled(of)),
);
const workerEvents: fc.Arbitrary<CeleryEvent> = fc
  .tuple(
    fc.constantFrom('worker-online', 'worker-heartbeat', 'worker-offline'),
    about,
    fc.constantFrom(0, 3, undefined),
  )
  .map(([type, { hostname, timestampMs }, active]) => signal(type, { hostname, timestampMs, active }));
const anyEvents = fc.array(
  fc.oneof({ weight: 6, arbitrary: taskEvents }, { weight: 1, arbitrary: workerEvents }),
  {
    maxLength: 60,
  },
);

/**
 * Each event of a life a while after the one before, as these gaps say; its sending and its receipt are close together,
 * and which one is stamped first is chance.
 */
function inTime(life: readonly TaskEvent[], uuid: string, gapsMs: readonly number[]): readonly TaskEvent[] {
  let atMs = T0_MS;
  return life.map((event, index) => {
    const isSecond = index === 1;
    atMs += isSecond ? SENT_APART_MS : (gapsMs[index % gapsMs.length] ?? 0);
    return { ...event, uuid, timestampMs: atMs, clock: clockAt(atMs) + index };
  });
}

/** A logical clock belongs to a process, not to a task: later events have a higher one. */
function clockAt(timestampMs: number): number {
  return (timestampMs - T0_MS) * 100;
}

function assertSane(it: Observation): void {
  for (const [field, value] of Object.entries('run' in it ? { ...it, ...it.run } : it)) {
    const isOfNoWorker = it.kind === 'task-sent' && field === 'worker';
    assert.ok(
      (value !== '' || isOfNoWorker) && value !== 'None' && value !== null,
      `${field} of ${line(it)}`,
    );
    if (typeof value === 'number') assert.ok(value >= 0 && Number.isFinite(value), line(it));
  }
}

function assertSaneView({ workers, queues }: ClusterView): void {
  for (const reading of workers) {
    assert.notEqual(reading.worker, 'gen7@shop');
    assert.ok(reading.up || reading.active === 0);
    for (const value of Object.values(reading)) if (typeof value === 'number') assert.ok(value >= 0);
  }
  for (const { queue, waitingAgeS, runningAgeS } of queues) {
    assert.notEqual(queue, '');
    assert.ok(waitingAgeS >= 0 && runningAgeS >= 0);
  }
}

test('any events in any order: no throw, no empty name, no negative value, every bound kept, nothing left over', () => {
  fc.assert(
    fc.property(anyEvents, fc.array(fc.boolean(), { minLength: 1 }), (events, collections) => {
      const on = watch({ tasksMax: TASKS_MAX, workersMax: WORKERS_MAX, heldMax: HELD_MAX, skewPairsMax: 1 });
      for (const [index, event] of events.entries()) {
        on.cluster.apply(event, event.timestampMs);
        if (collections[index % collections.length]) assertSaneView(on.cluster.collect(event.timestampMs));
        const { tasks, workers, reordering_window, clock_skews } = on.cluster.tables();
        assert.ok(tasks.size <= TASKS_MAX && workers.size <= WORKERS_MAX);
        assert.ok(reordering_window.size <= HELD_MAX && clock_skews.size <= 1);
      }
      on.cluster.flush();
      on.observed.forEach(assertSane);
      const longAfterMs = 10_000_000;
      on.cluster.collect(longAfterMs);
      const inTheEnd = on.cluster.collect(longAfterMs + 1);
      assert.deepEqual(inTheEnd.workers, []);
      assert.ok(inTheEnd.queues.every(({ runningAgeS }) => runningAgeS === 0));
    }),
    { numRuns: 3_000 },
  );
});

test('any events in any order: no more ends than runs that started or ended unseen', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      const on = watch();
      const begun = new Map<string, number>();
      const unseen = new Map<string, Set<string>>();
      const uuids = new Map<string, TaskEvent[]>();
      for (const event of events) {
        if ('uuid' in event) uuids.set(event.uuid, [...(uuids.get(event.uuid) ?? []), event]);
      }
      for (const [uuid, own] of uuids) {
        for (const { type, hostname, timestampMs } of own) {
          // A run begins with its receipt, or with its start if that was lost.
          if (type === 'task-received' || type === 'task-started')
            begun.set(uuid, (begun.get(uuid) ?? 0) + 1);
          else if (type !== 'task-sent')
            unseen.set(uuid, (unseen.get(uuid) ?? new Set()).add(`${hostname} ${type} ${timestampMs}`));
        }
        const ends = observe(own, on).filter((each) => END.test(each)).length;
        const most = (begun.get(uuid) ?? 0) + (unseen.get(uuid)?.size ?? 0);
        assert.ok(ends <= most, `${ends} ends of ${uuid}`);
      }
    }),
    { numRuns: 1_500 },
  );
});

/** A task that is retried some times and then ends for good; some of its ends are reported twice, as Celery does. */
interface Life {
  readonly events: readonly TaskEvent[];
  /** The expected ends, in order. */
  readonly ends: readonly string[];
}

const FINAL: readonly { readonly end: string; readonly events: readonly TaskEvent[] }[] = [
  { end: 'succeeded', events: [succeeded()] },
  { end: 'failed', events: [failed('KeyError')] },
  { end: 'failed', events: [failed('TimeLimitExceeded'), failed('TimeLimitExceeded')] },
  { end: 'rejected', events: [rejected(false)] },
  { end: 'rejected', events: [failed('Reject', { rejection: true }), rejected(false)] },
  { end: 'revoked', events: [revoked({ terminated: true }), failed('SystemExit')] },
  { end: 'revoked', events: [revoked({ terminated: true }), succeeded()] },
];
const AGAIN: readonly { readonly end: string; readonly event: TaskEvent }[] = [
  { end: 'retried', event: retried('KeyError') },
  { end: 'rejected', event: rejected(true) },
  { end: 'cancelled', event: cancelled() },
];

const lives: fc.Arbitrary<Life> = fc
  .record({
    /** The runs before the last: how they ended, and whether the next receipt arrived before that. */
    before: fc.array(
      fc.record({ again: fc.constantFrom(...AGAIN), early: fc.boolean(), startLost: fc.boolean() }),
      {
        maxLength: 3,
      },
    ),
    final: fc.constantFrom(...FINAL),
    sentFirst: fc.boolean(),
    startLost: fc.boolean(),
  })
  .map(({ before, final, sentFirst, startLost }) => {
    const events: TaskEvent[] = sentFirst ? [sent(), received()] : [received(), sent()];
    for (const run of before) {
      if (!run.startLost) events.push(started());
      events.push(...(run.early ? [received(), run.again.event] : [run.again.event, received()]));
    }
    if (!startLost) events.push(started());
    events.push(...final.events);
    return { events, ends: [...before.map(({ again }) => again.end), final.end] };
  });

/** Three lives, and whose event comes at each turn. */
const interleaved = fc.tuple(lives, lives, lives).chain((three) =>
  fc.tuple(
    fc.constant(three),
    fc.shuffledSubarray(
      three.flatMap(({ events }, index) => events.map(() => index)),
      { minLength: three.reduce((sum, { events }) => sum + events.length, 0) },
    ),
  ),
);

/** The events of the lives in the order of the turns, each of a task of its own. */
function woven([three, turns]: readonly [readonly Life[], readonly number[]]): readonly TaskEvent[] {
  const queues = three.map(({ events }, index) => events.map((event) => ({ ...event, uuid: `u${index}` })));
  return turns.flatMap((turn) => queues[turn]?.splice(0, 1) ?? []);
}

test('for interleaved tasks, each run is observed to end once, with the right outcome', () => {
  fc.assert(
    fc.property(interleaved, (lives) => {
      const [three] = lives;
      const reported = new Map<string, string[]>();
      // One task after the other, so that it is known which one is meant.
      const events = spaced(woven(lives));
      for (const [index] of three.entries()) {
        const uuid = `u${index}`;
        reported.set(uuid, [...observe(events.filter((event) => event.uuid === uuid))]);
      }
      const together = observe(events);
      assert.deepEqual(
        together.toSorted(),
        [...reported.values()].flat().sort(),
        'tasks do not touch each other',
      );
      for (const [index, { events: of, ends }] of three.entries()) {
        const list = reported.get(`u${index}`) ?? [];
        const kinds = list.filter((each) => END.test(each)).map((each) => each.split(' ')[0]);
        assert.deepEqual(kinds, ends);
        for (const type of ['sent', 'received', 'started']) {
          const all = of.filter((event) => event.type === `task-${type}`).length;
          const counted = list.filter((each) => each.startsWith(`${type} `)).length;
          assert.equal(counted, all, `${type}: every one counts`);
        }
        assert.ok(list.every((each) => each.split(' ')[1] === 'shop.pay'));
      }
    }),
    { numRuns: 2_000 },
  );
});

/** The observations of events that arrive at these times, in any order. */
function outcome(events: readonly (readonly [event: CeleryEvent, arrivedAtMs: number])[], endMs: number) {
  const on = watch();
  const arrivals = events.toSorted(([, one], [, other]) => one - other);
  for (const [event, arrivedAtMs] of arrivals) on.cluster.apply(event, arrivedAtMs);
  on.cluster.flush();
  const { workers, queues } = on.cluster.collect(endMs);
  return {
    observed: on.observed.map((it) => JSON.stringify(it)).sort(),
    workers: workers.toSorted((one, other) => one.worker.localeCompare(other.worker)),
    queues,
  };
}

const delays = fc.array(fc.integer({ min: 0, max: SETTINGS.windowMs }), { minLength: 40, maxLength: 40 });
/** Some events of a task at the same time, some so far apart that no window reaches from one to the next. */
const gaps = fc.array(fc.constantFrom(0, 1, 20, 300, 2_000), { minLength: 1, maxLength: 10 });
const timed: fc.Arbitrary<readonly TaskEvent[]> = fc
  .tuple(fc.tuple(lives, gaps), fc.tuple(lives, gaps), fc.tuple(lives, gaps))
  .map((three) => three.flatMap(([{ events }, gapsMs], index) => inTime(events, `u${index}`, gapsMs)));
const END_MS = T0_MS + 200_000;

/** The heartbeat of the worker that runs these tasks, with true figures. */
function heartbeatAmong(tasks: readonly TaskEvent[], timestampMs: number): CeleryEvent {
  const processed = tasks.filter(
    (event) => event.type === 'task-started' && event.timestampMs < timestampMs,
  ).length;
  return signal('worker-heartbeat', { timestampMs, clock: clockAt(timestampMs), active: 1, processed });
}

test('the order of arrival within the window does not change what is observed', () => {
  fc.assert(
    fc.property(timed, delays, (tasks, delaysMs) => {
      const signals = [0, 2_000, 4_000, 30_000].map((afterMs) => heartbeatAmong(tasks, T0_MS + afterMs));
      const events: readonly CeleryEvent[] = [...signals, ...tasks];
      const arriving = (delay: (index: number) => number) =>
        outcome(
          events.map((event, index) => [event, event.timestampMs + delay(index)]),
          END_MS,
        );
      const straight = arriving(() => 0);
      assert.deepEqual(
        arriving((index) => delaysMs[index % delaysMs.length] ?? 0),
        straight,
      );
      for (const it of straight.observed) assert.doesNotMatch(it, /unknown/u, 'each has its queue');
    }),
    { numRuns: 2_000 },
  );
});

/** The number of last events of a task that are remembered. */
const EVENTS_REMEMBERED = 12;

test('exact duplicates, within the window or later, count once', () => {
  const remembered = timed.filter((events) =>
    [...Map.groupBy(events, ({ uuid }) => uuid).values()].every(({ length }) => length <= EVENTS_REMEMBERED),
  );
  fc.assert(
    fc.property(remembered, fc.array(fc.nat(40), { maxLength: 10 }), delays, (events, repeats, delaysMs) => {
      const once = events.map((event) => [event, event.timestampMs] as const);
      const again = repeats.flatMap((at, index) => {
        const event = events[at];
        return event === undefined ? [] : [[event, event.timestampMs + (delaysMs[index] ?? 0) * 10] as const];
      });
      assert.deepEqual(outcome([...once, ...again], END_MS).observed, outcome(once, END_MS).observed);
    }),
    { numRuns: 1_000 },
  );
});
