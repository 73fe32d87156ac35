/**
 * Clocks that are wrong by years, of workers and of clients: their events are counted, in order, and give no duration
 * and no age.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import type { Observation } from '../../src/cluster/observation.ts';
import {
  failed,
  line,
  received,
  SETTINGS,
  sent,
  signal,
  started,
  succeeded,
  T0_MS,
  type Watched,
  watch,
} from './events.ts';

/** The error of the clock, ms. */
const CLOCKS = { 1970: 86_400_000 - T0_MS, 2100: 4_102_444_800_000 - T0_MS } as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const YEAR_9999_MS = 253_402_300_800_000;
const YEAR_1_MS = -62_135_596_800_000;

interface WorkerReport {
  /** When it happened, s since the beginning. */
  readonly atS: number;
  /** Its delay. */
  readonly lateMs?: number;
  /** The error of its sender's clock; 0 is right. */
  readonly offMs?: number;
}

/** A decoded event, and when it arrives. */
function telling(
  { atS, lateMs = 0, offMs = 0 }: WorkerReport,
  event: CeleryEvent,
): readonly [atMs: number, CeleryEvent] {
  const happenedMs = T0_MS + atS * 1000;
  const arrivedMs = happenedMs + lateMs;
  if (offMs === 0) return [arrivedMs, { ...event, timestampMs: happenedMs }];
  return [arrivedMs, { ...event, timestampMs: arrivedMs, implausibleMs: happenedMs + offMs }];
}

function apply(on: Watched, events: readonly (readonly [number, CeleryEvent])[]): void {
  const arriving = [...events].sort(([one], [other]) => one - other);
  for (const [atMs, event] of arriving) on.cluster.apply(event, atMs);
}

function durations(observed: readonly Observation[]): readonly number[] {
  return observed.flatMap((it) =>
    ['queueTimeS', 'waitTimeS', 'prefetchTimeS', 'runtimeS'].flatMap((key) => {
      const value: unknown = Reflect.get(it, key);
      return typeof value === 'number' ? [value] : [];
    }),
  );
}

for (const [year, offMs] of Object.entries(CLOCKS)) {
  test(`a worker in ${year}: its tasks are counted under their names, and only durations it measured itself are used`, () => {
    const on = watch();
    apply(on, [
      telling({ atS: 0 }, sent()),
      telling({ atS: 1, offMs }, received({ clock: 1 })),
      telling({ atS: 3, offMs }, started({ clock: 2 })),
      telling({ atS: 9, offMs }, succeeded({ clock: 3 })),
      telling({ atS: 1, offMs }, received({ uuid: 'u2', clock: 4 })),
      telling({ atS: 3, offMs }, started({ uuid: 'u2', clock: 5 })),
      telling({ atS: 9, offMs }, failed('KeyError', { uuid: 'u2', clock: 6 })),
    ]);
    on.cluster.flush();
    assert.deepEqual(on.observed.map(line).sort(), [
      'failed shop.pay unknown w1@shop KeyError unmeasured',
      'received shop.pay orders w1@shop',
      'received shop.pay unknown w1@shop',
      'sent shop.pay orders',
      'started shop.pay orders w1@shop',
      'started shop.pay unknown w1@shop',
      'succeeded shop.pay orders w1@shop 0.25s',
    ]);
    assert.deepEqual(durations(on.observed), [0.25]);
  });

  test(`a client in ${year}: no queue time, no wait and no skew, but the worker’s own times`, () => {
    const on = watch();
    apply(on, [
      telling({ atS: 0, offMs }, sent()),
      telling({ atS: 1 }, received()),
      telling({ atS: 3 }, started()),
      telling({ atS: 4 }, succeeded()),
    ]);
    on.cluster.flush();
    assert.deepEqual(durations(on.observed), [2, 0.25]);
    assert.ok(on.observed.every(({ kind }) => kind !== 'clock-skewed'));
  });

  test(`tasks with times in ${year} have no age, waiting or running`, () => {
    const on = watch();
    apply(on, [
      telling({ atS: 0, offMs }, sent({ uuid: 'sent', queue: 'a' })),
      telling({ atS: 0, offMs }, sent({ uuid: 'received', queue: 'b' })),
      telling({ atS: 0, offMs }, received({ uuid: 'received', clock: 1 })),
      telling({ atS: 0, offMs }, sent({ uuid: 'started', queue: 'c' })),
      telling({ atS: 0, offMs }, received({ uuid: 'started', clock: 2 })),
      telling({ atS: 0, offMs }, started({ uuid: 'started', clock: 3 })),
      telling({ atS: 30, offMs }, signal('worker-heartbeat', { active: 1, clock: 4 })),
    ]);
    const { queues, workers } = on.cluster.collect(T0_MS + 40_000);
    assert.deepEqual(
      queues.map(({ queue, waitingAgeS, runningAgeS }) => [queue, waitingAgeS, runningAgeS]).sort(),
      ['a', 'b', 'c'].map((queue) => [queue, 0, 0]),
    );
    assert.deepEqual(
      workers.map(({ up, active, prefetched }) => [up, active, prefetched]),
      [[true, 1, 1]],
    );
  });

  test(`a duplicate event of ${year} counts once`, () => {
    const on = watch();
    const twice = (event: CeleryEvent) => [
      telling({ atS: 0, offMs }, event),
      telling({ atS: 0, lateMs: 60_000, offMs }, event),
    ];
    apply(on, [...twice(sent()), ...twice(received()), ...twice(failed('KeyError'))]);
    on.cluster.flush();
    assert.deepEqual(on.observed.map(line).sort(), [
      'failed shop.pay orders w1@shop KeyError unmeasured',
      'received shop.pay orders w1@shop',
      'sent shop.pay orders',
    ]);
  });
}

/** The events of the task before the worker's clock was corrected. */
for (const wrong of [3, 2, 1]) {
  const what = wrong === 3 ? 'whose clock is wrong' : `whose clock is set right after ${wrong} events`;
  test(`the events of a worker ${what} are ordered, whatever their order of arrival within the window`, () => {
    const reported = [received({ clock: 1 }), started({ clock: 2 }), succeeded({ clock: 3 })];
    for (const first of reported) {
      for (const second of reported) {
        const third = reported.find((event) => event !== first && event !== second);
        if (first === second || third === undefined) continue;
        const on = watch();
        const coming = [first, second, third];
        apply(
          on,
          reported.map((event, index) => {
            const offMs = index < wrong ? CLOCKS[1970] : 0;
            return telling({ atS: index / 100, lateMs: 50 + 100 * coming.indexOf(event), offMs }, event);
          }),
        );
        on.cluster.flush();
        assert.deepEqual(on.observed.map(line), [
          'received shop.pay unknown w1@shop',
          'started shop.pay unknown w1@shop',
          'succeeded shop.pay unknown w1@shop 0.25s',
        ]);
        assert.deepEqual(durations(on.observed), [0.25]);
      }
    }
  });
}

/**
 * A worker that starts ten tasks a second, with a heartbeat every two seconds; each start arrives up to almost a window
 * late.
 */
function beginning(tasks: number, isWrong: (atS: number) => boolean, skipped = 0) {
  const events: (readonly [number, CeleryEvent])[] = [];
  const offOf = (atS: number) => (isWrong(atS) ? CLOCKS[1970] : 0);
  for (let index = 0; index < tasks; index += 1) {
    const atS = index / 10 + 0.05;
    const lateMs = (index * 37) % (SETTINGS.windowMs - 10);
    const begun = started({ uuid: `u${index}`, clock: 10 * index });
    if (index % 100 >= skipped) events.push(telling({ atS, lateMs, offMs: offOf(atS) }, begun));
  }
  for (let atS = 0; atS <= tasks / 10 + 10; atS += 2) {
    const processed = Math.min(tasks, atS * 10);
    const clock = 10 * processed + (atS > tasks / 10 ? atS : 0) - 5;
    const lateMs = (atS * 53) % (SETTINGS.windowMs - 10);
    const beat = signal('worker-heartbeat', { processed, active: 0, clock });
    events.push(telling({ atS, lateMs, offMs: offOf(atS) }, beat));
  }
  return events;
}

for (const [what, isWrong] of [
  ['always', () => true],
  ['until its clock is set right', (atS: number) => atS < 31],
  ['from then on that its clock breaks', (atS: number) => atS > 31],
] as const) {
  test(`a worker in 1970, ${what}: its started tasks are counted, and none seem lost`, () => {
    const on = watch();
    apply(on, beginning(600, isWrong));
    on.cluster.collect(T0_MS + 80_000);
    on.cluster.flush();
    const sums = { processed: 0, lost: 0 };
    for (const it of on.observed) {
      if (it.kind !== 'worker-progressed') continue;
      sums.processed += it.processed;
      sums.lost += it.eventsLost;
    }
    assert.deepEqual(sums, { processed: 600, lost: 0 });
  });
}

test('lost events of a worker in 1970 are found', () => {
  const on = watch();
  apply(
    on,
    beginning(600, () => true, 10),
  );
  on.cluster.collect(T0_MS + 80_000);
  const lost = on.observed.reduce(
    (sum, it) => sum + (it.kind === 'worker-progressed' ? it.eventsLost : 0),
    0,
  );
  assert.ok(lost > 40 && lost <= 60, `${lost}`);
});

for (const [year, etaMs] of [
  ['1', YEAR_1_MS],
  ['9999', YEAR_9999_MS],
] as const) {
  test(`an ETA in the year ${year} gives no skew and no false duration`, () => {
    const on = watch();
    apply(on, [
      telling({ atS: 0 }, sent({ etaMs, expiresMs: etaMs })),
      telling({ atS: 1 }, received({ etaMs, expiresMs: etaMs })),
    ]);
    const { queues } = on.cluster.collect(T0_MS + 4_000);
    for (const { waitingAgeS, runningAgeS } of queues) assert.deepEqual([waitingAgeS, runningAgeS], [0, 0]);
    apply(on, [telling({ atS: 5 }, started()), telling({ atS: 6 }, failed('KeyError'))]);
    on.cluster.flush();
    assert.ok(on.observed.every(({ kind }) => kind !== 'clock-skewed'));
    assert.deepEqual(durations(on.observed), year === '1' ? [1, 5, 4, 1] : [1, 1]);
  });
}

test('if the bridge’s own clock is set back by days, no task seems lost and no worker gone', () => {
  for (const [beforeMs, afterMs] of [
    [2 * DAY_MS, 0],
    [4_102_444_800_000 - T0_MS, 0],
    [0, -2 * DAY_MS],
  ] as const) {
    const on = watch();
    for (let tick = 0; tick < 2_400; tick += 1) {
      const atMs = T0_MS + tick * 50;
      const wallMs = atMs + (tick < 1_200 ? beforeMs : afterMs);
      const implausibleMs = Math.abs(wallMs - atMs) > DAY_MS ? atMs : undefined;
      const at = { timestampMs: implausibleMs === undefined ? atMs : wallMs, implausibleMs };
      on.cluster.apply(started({ uuid: `u${tick}`, clock: 3 * tick, ...at }), wallMs, atMs);
      on.cluster.apply(succeeded({ uuid: `u${tick}`, clock: 3 * tick + 1, ...at }), wallMs, atMs);
      if (tick % 40 !== 39) continue;
      const beat = signal('worker-heartbeat', { processed: tick + 1, clock: 3 * tick + 2, ...at });
      on.cluster.apply(beat, wallMs, atMs);
    }
    on.cluster.flush();
    const lost = on.observed.map((it) => (it.kind === 'worker-progressed' ? it.eventsLost : 0));
    assert.equal(
      lost.reduce((sum, events) => sum + events, 0),
      0,
      `${beforeMs} then ${afterMs}`,
    );
    assert.ok(on.observed.every(({ kind }) => kind !== 'worker-exited' && kind !== 'task-lost'));
  }
});
