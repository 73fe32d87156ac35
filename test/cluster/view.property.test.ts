/** A view changes nothing, however often it is made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { fc } from '../seed.ts';
import {
  failed,
  received,
  retried,
  SETTINGS,
  sent,
  signal,
  started,
  succeeded,
  T0_MS,
  type Watched,
  watch,
} from './events.ts';

const DAY_MS = 24 * 3_600_000;

type Action = (on: Watched, nowMs: number) => void;

const about = fc.record({
  uuid: fc.constantFrom('u1', 'u2', 'u3', 'u4'),
  hostname: fc.constantFrom('w1@shop', 'w2@shop', 'w3@shop'),
  pid: fc.constantFrom(17, 18),
});
const queues = fc.constantFrom('orders', 'mails', '');
/** Of an ETA or an expiry, from now. */
const aheadMs = fc.constantFrom(undefined, 5_000, 60_000);
const makers: fc.Arbitrary<(nowMs: number) => CeleryEvent> = fc
  .record({
    about,
    queue: queues,
    etaMs: aheadMs,
    expiresMs: aheadMs,
    active: fc.constantFrom(0, 1, undefined),
  })
  .chain(({ about: { uuid, hostname, pid }, queue, active, ...ahead }) => {
    const worker = (timestampMs: number) => ({ hostname, pid, timestampMs });
    const message = (nowMs: number) => ({
      uuid,
      etaMs: ahead.etaMs && nowMs + ahead.etaMs,
      expiresMs: ahead.expiresMs && nowMs + ahead.expiresMs,
    });
    return fc.constantFrom<((nowMs: number) => CeleryEvent)[]>(
      (ms) => sent({ ...message(ms), queue, timestampMs: ms }),
      (ms) => received({ ...message(ms), ...worker(ms) }),
      (ms) => started({ uuid, ...worker(ms) }),
      (ms) => succeeded({ uuid, ...worker(ms) }),
      (ms) => failed('KeyError', { uuid, ...worker(ms) }),
      (ms) => retried('KeyError', { uuid, ...worker(ms) }),
      (ms) => signal('worker-heartbeat', { ...worker(ms), active }),
      (ms) => signal('worker-online', worker(ms)),
      (ms) => signal('worker-offline', worker(ms)),
    );
  });
const actions: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 12,
    arbitrary: makers.map(
      (make): Action =>
        (on, nowMs) =>
          on.cluster.apply(make(nowMs), nowMs),
    ),
  },
  { weight: 3, arbitrary: fc.constant<Action>((on, nowMs) => on.cluster.collect(nowMs)) },
  { weight: 1, arbitrary: fc.constant<Action>((on) => on.cluster.gap()) },
);
const turns = fc.array(
  fc.record({
    act: actions,
    /** Until the next turn. */
    forMs: fc.oneof(
      { weight: 6, arbitrary: fc.nat(2_000) },
      { weight: 1, arbitrary: fc.constantFrom(SETTINGS.workerTimeoutMs, SETTINGS.seriesRetentionMs, DAY_MS) },
    ),
    views: fc.nat(2),
  }),
  { maxLength: 60, size: 'max' },
);

/** The complete state of a cluster. */
function known(on: Watched, nowMs: number) {
  const { cluster, observed } = on;
  const before = [cluster.view(nowMs), cluster.tables(), cluster.beyondFixedBounds()];
  const after = [nowMs, nowMs + SETTINGS.seriesRetentionMs + 1].map((ms) => cluster.collect(ms));
  cluster.flush();
  return { before, after, tables: cluster.tables(), observed };
}

test('views at any time do not change a cluster, and they agree', () => {
  fc.assert(
    fc.property(turns, (list) => {
      const bounds = { tasksMax: 3, workersMax: 2 };
      const [viewed, plain] = [watch(bounds), watch(bounds)];
      let nowMs = T0_MS;
      for (const { act, forMs, views } of list) {
        act(viewed, nowMs);
        act(plain, nowMs);
        nowMs += forMs;
        const [tables, { length }] = [viewed.cluster.tables(), viewed.observed];
        const [first, ...others] = Array.from({ length: views }, () => viewed.cluster.view(nowMs));
        for (const other of others) assert.deepEqual(other, first);
        assert.deepEqual([viewed.cluster.tables(), viewed.observed.length], [tables, length]);
      }
      assert.deepEqual(known(viewed, nowMs), known(plain, nowMs));
    }),
    { numRuns: 1_500 },
  );
});

test('settling again does not change the view', () => {
  fc.assert(
    fc.property(turns, (list) => {
      const on = watch({ tasksMax: 3, workersMax: 2 });
      let nowMs = T0_MS;
      for (const { act, forMs } of list) {
        act(on, nowMs);
        nowMs += forMs;
      }
      on.cluster.collect(nowMs);
      const once = on.cluster.view(nowMs);
      const { forgotten: _, ...again } = on.cluster.collect(nowMs);
      assert.deepEqual(again, once);
    }),
    { numRuns: 1_000 },
  );
});
