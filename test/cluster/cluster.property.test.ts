/** Whatever order events come in, and whichever are lost or come twice, what is observed of them stays sane. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CeleryEvent, TaskEvent } from '../../src/celery/event.ts';
import {
  cancelled,
  cluster,
  failed,
  line,
  received,
  rejected,
  retried,
  revoked,
  sent,
  signal,
  spaced,
  started,
  succeeded,
} from './events.ts';

const SEED = 20_261_121;
const TASKS_MAX = 3;
const WORKERS_MAX = 2;
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

test('anything in any order: no throw, no empty name, every bound kept', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      const on = cluster({ tasksMax: TASKS_MAX, workersMax: WORKERS_MAX });
      for (const event of events) {
        const observations = on.apply(event, event.timestampMs);
        assert.ok(observations.length <= 1);
        for (const observation of observations) {
          assert.equal(observation.kind.split('-')[0], 'task');
          for (const [field, value] of Object.entries(observation)) {
            assert.ok(value !== '' && value !== 'None' && value !== null, `${field} of ${line(observation)}`);
            if (typeof value === 'number') assert.ok(value >= 0 && Number.isFinite(value), line(observation));
          }
        }
        const { tasks, workers } = on.sizes();
        assert.ok(tasks <= TASKS_MAX && workers <= WORKERS_MAX);
        for (const { worker, up, active } of on.workers(event.timestampMs)) {
          assert.notEqual(worker, 'gen7@shop');
          assert.ok(up || active === 0);
        }
      }
    }),
    { numRuns: 3_000, seed: SEED },
  );
});

test('anything in any order: there are no more ends than runs that began or ended unseen', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      const on = cluster();
      const begun = new Map<string, number>();
      const unseen = new Map<string, Set<number>>();
      const ended = new Map<string, number>();
      for (const event of events) {
        if (!('uuid' in event)) continue;
        const { uuid, type } = event;
        const observed = on.apply(event, event.timestampMs).map(line);
        // A run begins with its receipt, or with its start where that was lost.
        if (type === 'task-received' || type === 'task-started') begun.set(uuid, (begun.get(uuid) ?? 0) + 1);
        else if (type !== 'task-sent')
          unseen.set(uuid, (unseen.get(uuid) ?? new Set()).add(event.timestampMs));
        ended.set(uuid, (ended.get(uuid) ?? 0) + observed.filter((each) => END.test(each)).length);
      }
      for (const [uuid, count] of ended) {
        assert.ok(
          count <= (begun.get(uuid) ?? 0) + (unseen.get(uuid)?.size ?? 0),
          `${count} ends of ${uuid}`,
        );
      }
    }),
    { numRuns: 1_500, seed: SEED },
  );
});

/** A task that is retried some times and then ends for good; it tells some of its ends twice, as Celery does. */
interface Life {
  readonly events: readonly TaskEvent[];
  /** The ends to be observed, in their order. */
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
    /** The runs before the last: how they ended, and whether the receipt of the next came before that was told. */
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

test('lives of several tasks, interleaved: each run is told to end once, as it did', () => {
  const interleaved = fc.tuple(lives, lives, lives).chain((three) =>
    fc.tuple(
      fc.constant(three),
      fc.shuffledSubarray(
        three.flatMap(({ events }, index) => events.map(() => index)),
        { minLength: three.reduce((sum, { events }) => sum + events.length, 0) },
      ),
    ),
  );
  fc.assert(
    fc.property(interleaved, ([three, turns]) => {
      const queues = three.map(({ events }, index) =>
        events.map((event) => ({ ...event, uuid: `u${index}` })),
      );
      const events = spaced(turns.flatMap((turn) => queues[turn]?.splice(0, 1) ?? []));
      const on = cluster();
      const told = new Map<string, string[]>();
      for (const event of events) {
        const list = told.get(event.uuid) ?? [];
        list.push(...on.apply(event, event.timestampMs).map(line));
        told.set(event.uuid, list);
      }
      for (const [index, { events: of, ends }] of three.entries()) {
        const list = told.get(`u${index}`) ?? [];
        const kinds = list.filter((each) => END.test(each)).map((each) => each.split(' ')[0]);
        assert.deepEqual(kinds, ends);
        for (const type of ['sent', 'received', 'started']) {
          const all = of.filter((event) => event.type === `task-${type}`).length;
          assert.equal(
            list.filter((each) => each.startsWith(`${type} `)).length,
            all,
            `${type}: every one counts`,
          );
        }
        assert.ok(list.every((each) => each.split(' ')[1] === 'shop.pay'));
      }
    }),
    { numRuns: 2_000, seed: SEED },
  );
});

test('the same events give the same observations', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      const told = () => {
        const on = cluster({ tasksMax: TASKS_MAX });
        return events.map((event) => on.apply(event, event.timestampMs));
      };
      assert.deepEqual(told(), told());
    }),
    { numRuns: 300, seed: SEED },
  );
});
