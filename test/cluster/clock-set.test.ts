/**
 * Events that arrive late or out of order, and restarts just after a clock was set, the worker's or ours: the former
 * are no restarts, the latter are.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { CLOCK_OFF_MS_MAX } from '../../src/celery/numeric-fields.ts';
import { line, received, signal, started, succeeded, T0_MS, WORKER, watch } from './events.ts';
import { heartbeat, news, upAt } from './stories.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TO_1970_MS = DAY_MS - T0_MS;
const LOST = 'lost shop.pay unknown w1@shop';
const RESTARTED = 'exited w1@shop restarted';

interface WorkerReport {
  readonly atS: number;
  readonly event: CeleryEvent;
  readonly lateS?: number;
  /** The error of its worker's clock. */
  readonly offMs?: number;
  /** The error of our clock when it arrives. */
  readonly ownOffMs?: number;
}

/** Losses and exits, with times as decoding gives them. */
function outcome(reported: readonly WorkerReport[], collectS: number): readonly string[] {
  const on = watch();
  const comesS = ({ atS, lateS = 0 }: WorkerReport): number => atS + lateS;
  for (const each of reported.toSorted((one, other) => comesS(one) - comesS(other))) {
    const listenedMs = T0_MS + comesS(each) * 1_000;
    const wallMs = listenedMs + (each.ownOffMs ?? 0);
    const reportedMs = T0_MS + each.atS * 1_000 + (each.offMs ?? 0);
    const isPlausible = Math.abs(reportedMs - wallMs) <= CLOCK_OFF_MS_MAX;
    const times = isPlausible
      ? { timestampMs: reportedMs, implausibleMs: undefined }
      : { timestampMs: wallMs, implausibleMs: reportedMs };
    on.cluster.apply({ ...each.event, ...times }, wallMs, listenedMs);
  }
  assert.deepEqual(upAt(on, collectS), [[WORKER, true]]);
  return news(on);
}

/**
 * A worker that comes online, starts a task, and sends heartbeats every two seconds; its events arrive some seconds
 * late.
 */
function alive(
  untilS: number,
  clocks: Pick<WorkerReport, 'offMs' | 'ownOffMs'>,
  lateS: (atS: number) => number,
): WorkerReport[] {
  const reported: WorkerReport[] = [
    { atS: 0, event: signal('worker-online', { clock: 1 }), lateS: lateS(0), ...clocks },
    { atS: 1, event: received({ clock: 2 }), lateS: lateS(1), ...clocks },
    { atS: 1, event: started({ clock: 3 }), lateS: lateS(1), ...clocks },
  ];
  for (let atS = 2; atS <= untilS; atS += 2) {
    // All that it has started still runs.
    const event = heartbeat(100 + atS, { processed: 100 + atS, clock: 10 * atS });
    reported.push({ atS, event, lateS: lateS(atS), ...clocks });
  }
  return reported;
}

/** A process with the same pid, which starts four tasks at once; its worker-online may be missed. */
function begunAnew(
  fromS: number,
  greets: boolean,
  clocks: Pick<WorkerReport, 'offMs' | 'ownOffMs'>,
): readonly WorkerReport[] {
  const reported: WorkerReport[] = greets ? [{ atS: fromS, event: signal('worker-online'), ...clocks }] : [];
  for (let index = 1; index <= 4; index += 1) {
    const of = { uuid: `n${index}`, clock: 1 + index };
    reported.push({ atS: fromS + index, event: received(of), ...clocks });
    reported.push({ atS: fromS + index, event: started(of), ...clocks });
  }
  for (let beat = 1; beat <= 30; beat += 1) {
    const active = Math.min(4, 2 * beat);
    const event = heartbeat(active, { processed: active, clock: 10 + beat });
    reported.push({ atS: fromS + 2 * beat + 0.1, event, ...clocks });
  }
  return reported;
}

const LATE: Readonly<Record<string, (atS: number) => number>> = {
  'two of them five seconds late': (atS) => (atS === 20 || atS === 22 ? 5 : 0),
  'two of them five seconds late, one long after the other': (atS) => (atS === 20 || atS === 50 ? 5 : 0),
  'two of them three seconds late': (atS) => (atS === 20 || atS === 24 ? 3 : 0),
  'all of them in disorder': (atS) => (atS * 37) % 6,
  'all of them five seconds late': () => 5,
  'the worker-online five seconds late': (atS) => (atS === 0 ? 5 : 0),
};

const CLOCK_IS: Readonly<Record<string, number>> = {
  right: 0,
  'two seconds ahead': 2_000,
  'six seconds ahead': 6_000,
  'an hour ahead': HOUR_MS,
  'of 1970': TO_1970_MS,
};

for (const [clock, offMs] of Object.entries(CLOCK_IS)) {
  for (const [what, lateS] of Object.entries(LATE)) {
    test(`events of a worker whose clock is ${clock}, ${what}, are no restart`, () => {
      assert.deepEqual(outcome(alive(60, { offMs }, lateS), 72), []);
    });
  }
}

/** The errors of the worker's clock before and after, and of ours. */
const CLOCKS_SET: Readonly<
  Record<string, readonly [before: Partial<WorkerReport>, after: Partial<WorkerReport>]>
> = {
  'the clock of the worker was set back by a second': [{}, { offMs: -1_000 }],
  'the clock of the worker was set back by five seconds': [{}, { offMs: -5_000 }],
  'the clock of the worker was set back by a minute': [{}, { offMs: -60_000 }],
  'the clock of the worker was set back by an hour': [{}, { offMs: -HOUR_MS }],
  'the clock of the worker was set forward by an hour': [{}, { offMs: HOUR_MS }],
  'the clock of the worker went back to 1970': [{}, { offMs: TO_1970_MS }],
  'the clock of the worker was set right': [{ offMs: TO_1970_MS }, {}],
  'the clock of the worker is of 1970': [{ offMs: TO_1970_MS }, { offMs: TO_1970_MS }],
  'the clock of the worker begins anew in 1970': [{ offMs: TO_1970_MS }, { offMs: TO_1970_MS - 20_000 }],
  'our clock was set back by an hour': [{ ownOffMs: HOUR_MS }, {}],
  'our clock was set forward by an hour': [{}, { ownOffMs: HOUR_MS }],
  'our clock was set back by two days': [{ ownOffMs: 2 * DAY_MS }, {}],
  'our clock was set forward by two days': [{}, { ownOffMs: 2 * DAY_MS }],
};

for (const [what, [before, after]] of Object.entries(CLOCKS_SET)) {
  for (const greets of [true, false]) {
    test(`a restart with the same pid is found where ${what}, ${greets ? 'with' : 'without'} a worker-online`, () => {
      for (const fromS of [12, 25]) {
        const reported = [...alive(10, before, () => 0), ...begunAnew(fromS, greets, after)];
        assert.deepEqual(outcome(reported, fromS + 62), [LOST, RESTARTED], `after ${fromS} s`);
      }
    });
  }
}

for (const backMs of [20, 1_000, HOUR_MS]) {
  test(`a task whose worker’s clock is set back by ${backMs} ms meanwhile has its events in order`, () => {
    const at = (clock: number, ms: number) => ({ clock, timestampMs: T0_MS + ms });
    const events = [
      received(at(400, 0)),
      started(at(401, 10 - backMs)),
      succeeded({ ...at(402, 300 - backMs), runtimeS: 0.29 }),
    ];
    for (const order of ['012', '021', '102', '120', '201', '210']) {
      const on = watch();
      for (const index of order) {
        const event = events[Number(index)];
        if (event !== undefined) on.cluster.apply(event, T0_MS + 300);
      }
      const { queues, workers } = on.cluster.collect(T0_MS + 9_000);
      assert.deepEqual(
        on.observed.map((it) => line(it).split(' ')[0]),
        ['received', 'started', 'succeeded'],
        order,
      );
      assert.deepEqual([queues[0]?.waitingAgeS, workers[0]?.prefetched], [0, 0]);
    }
  });
}

for (const backMs of [5_000, 60_000, HOUR_MS]) {
  test(`a worker whose clock was set back by ${backMs / 1_000} s while we were stalled is alive`, () => {
    const reported = alive(60, {}, (atS) => (atS > 20 && atS < 40 ? 40 - atS : 0));
    const setBack = reported.map((each) => (each.atS > 27 ? { ...each, offMs: -backMs } : each));
    assert.deepEqual(outcome(setBack, 72), []);
  });
}

test('a restart with the same pid while we were stalled is found, with and without a worker-online', () => {
  for (const greets of [true, false]) {
    const lateS = (atS: number): number => (atS > 8 && atS < 18 ? 18 - atS : 0);
    const anew = begunAnew(12, greets, {}).map((each) => ({ ...each, lateS: lateS(each.atS) }));
    assert.deepEqual(outcome([...alive(10, {}, lateS), ...anew], 74), [LOST, RESTARTED]);
  }
});

test('tasks of a dead process are lost, even if its successor’s clock was set back to before it died', () => {
  for (const backMs of [40_000, 60_000]) {
    const reported: WorkerReport[] = [{ atS: 0, event: signal('worker-online', { clock: 1 }) }];
    for (let atS = 1; atS <= 90; atS += 1) {
      const at = { uuid: `t${atS}`, clock: 10 * atS };
      reported.push({ atS, event: received(at) }, { atS, event: started(at) });
      reported.push({ atS: atS + 0.2, event: heartbeat(atS, { processed: atS, clock: 10 * atS + 1 }) });
    }
    const anew = begunAnew(95, true, { offMs: -backMs });
    assert.deepEqual(outcome([...reported, ...anew], 156), [
      ...Array.from(reported.slice(0, 90), () => LOST),
      RESTARTED,
    ]);
  }
});
