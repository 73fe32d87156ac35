/** Whatever happens: telling of finished runs changes nothing that is observed, each run is told once, and memory is bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent, Extras, TaskEvent } from '../../../src/celery/event.ts';
import type { Observation } from '../../../src/cluster/observation.ts';
import type { Finished } from '../../../src/tracer/ancestry/finished.ts';
import {
  cancelled,
  failed,
  received,
  rejected,
  retried,
  revoked,
  sent,
  signal,
  started,
  succeeded,
  type Watched,
  watch,
} from '../../cluster/events.ts';
import { floodOfTexts } from '../../cluster/flood-of-texts.ts';
import { at, listening, runs } from '../../cluster/listening.ts';
import { findOut, randomStory } from '../../cluster/random-stories.ts';
import { fc } from '../../seed.ts';

const ids = fc.constantFrom('u1', 'u2', 'u3', 'u4', '__proto__', '', 'r'.repeat(255));
const extras: fc.Arbitrary<Extras> = fc.record({
  lineage: fc.record({ rootId: ids, parentId: ids }),
  arguments: fc.constant({ args: 'a'.repeat(1024), kwargs: '{}' }),
  error: fc.constant({ path: 'KeyError', message: 'k', stacktrace: 's'.repeat(16_000) }),
});
const about = fc.record({
  uuid: fc.constantFrom('u1', 'u2', 'u3', 'u4', '__proto__'),
  hostname: fc.constantFrom('w1@shop', 'w2@shop', 'w3@shop'),
  timestampMs: fc.integer({ min: 1, max: 1_000_000 }),
  clock: fc.integer({ min: -1, max: 100 }),
  extras,
});
const names = fc.constantFrom('shop.pay', 'shop.ship', '');
const retriesOf = fc.integer({ min: 0, max: 3 });
const dueMs = fc.constantFrom(undefined, 500_000, 900_000);
const sentOrReceived = fc.record({ name: names, retries: retriesOf, etaMs: dueMs, expiresMs: dueMs });
const taskEvents: fc.Arbitrary<TaskEvent> = fc.oneof(
  fc.tuple(about, sentOrReceived).map(([of, more]) => sent({ ...of, ...more })),
  fc.tuple(about, sentOrReceived).map(([of, more]) => received({ ...of, ...more })),
  about.map((of) => started(of)),
  about.map((of) => succeeded(of)),
  fc.tuple(about, fc.boolean()).map(([of, rejection]) => failed('KeyError', { ...of, rejection })),
  about.map((of) => retried('KeyError', of)),
  fc.tuple(about, fc.boolean()).map(([of, requeue]) => rejected(requeue, of)),
  fc.tuple(about, fc.boolean()).map(([of, terminated]) => revoked({ ...of, terminated })),
  about.map((of) => cancelled(of)),
);
const workerEvents: fc.Arbitrary<CeleryEvent> = fc
  .tuple(about, fc.constantFrom(0, 1, 3, undefined))
  .map(([{ hostname, timestampMs, clock }, active]) =>
    signal('worker-heartbeat', { hostname, timestampMs, clock, active }),
  );
const anyEvents = fc.array(
  fc.oneof({ weight: 6, arbitrary: taskEvents }, { weight: 1, arbitrary: workerEvents }),
  { maxLength: 60 },
);
const gaps = fc.array(fc.constantFrom('none', 'collect', 'gap'), { minLength: 1, maxLength: 7 });
const SMALL = { tasksMax: 3, workersMax: 2, heldMax: 5, skewPairsMax: 1 };

function live({ cluster }: Watched, events: readonly CeleryEvent[], between: readonly string[]): void {
  for (const [index, event] of events.entries()) {
    cluster.apply(event, event.timestampMs);
    const what = between[index % between.length];
    if (what === 'collect') cluster.collect(event.timestampMs);
    if (what === 'gap') cluster.gap();
  }
  cluster.flush();
  for (const atMs of [2e6, 2e6 + 1, 1e7, 2e8]) cluster.collect(atMs);
}

test('any events in any order: what is observed is the same with a listener as without', () => {
  fc.assert(
    fc.property(anyEvents, gaps, fc.boolean(), fc.boolean(), (events, between, isSmall, begins) => {
      const over = isSmall ? SMALL : {};
      const [with_, without] = [
        listening(over, { beginsTrace: () => begins, delayMaxMs: 1_000 }),
        watch(over),
      ];
      live(with_, events, between);
      live(without, events, between);
      assert.deepEqual(with_.observed, without.observed);
      const evicted = ({ cluster }: Watched) =>
        Object.values(cluster.tables()).map((table) => [table.size, table.evicted]);
      assert.deepEqual(evicted(with_), evicted(without));
      for (const { bytes, bytesMax } of Object.values(with_.cluster.tables())) assert.ok(bytes <= bytesMax);
    }),
    { numRuns: 600 },
  );
});

const COUNTED: ReadonlySet<string> = new Set<Observation['kind']>([
  'task-succeeded',
  'task-failed',
  'task-retried',
  'task-rejected',
  'task-revoked',
  'task-cancelled',
]);

function idOf(reported: Finished): string {
  return reported.kind === 'run'
    ? `${reported.uuid} ${at(reported)}`
    : `${reported.uuid} ${reported.sent.name}`;
}

test('any events in any order: no run and no sending is told twice, and no more ends than are observed', () => {
  fc.assert(
    fc.property(anyEvents, gaps, (events, between) => {
      const on = listening({}, { delayMaxMs: 1_000 });
      live(on, events, between);
      const reported = on.reported.map(idOf);
      assert.equal(new Set(reported).size, reported.length, reported.join());
      const news = on.reported.filter((each) => each.kind === 'sending' || each.isSentNew);
      const sent_ = news.map(({ uuid, sent: sending }) => `${uuid} ${sending?.name}`);
      assert.equal(new Set(sent_).size, sent_.length, sent_.join());
      const isEnd = ({ outcome }: ReturnType<typeof runs>[number]) =>
        !/^(?:lost|redelivered|replaced|unknown)$/u.test(outcome);
      const ends = on.observed.filter(({ kind }) => COUNTED.has(kind)).length;
      const finished = runs(on);
      assert.ok(finished.filter(isEnd).length <= ends);
      // An end that is observed and not told follows another fact of its run.
      const others = finished.length - finished.filter(isEnd).length;
      assert.ok(ends - finished.filter(isEnd).length <= others);
      assert.equal(
        finished.filter(({ outcome }) => outcome === 'lost').length,
        on.observed.filter(({ kind }) => kind === 'task-lost').length,
      );
      for (const { receivedMs = 0, reportedMs } of finished) assert.ok(receivedMs >= 0 && reportedMs > 0);
    }),
    { numRuns: 600 },
  );
});

for (const misses of ['none', 'gap', 'drop'] as const) {
  test(`random stories of a worker, events missed: ${misses}: the same is observed, and each end is told once`, () => {
    for (const story of fc.sample(randomStory(misses), { numRuns: 100 })) {
      const [on, without] = [listening(), watch()];
      findOut(story, {}, on);
      findOut(story, {}, without);
      assert.deepEqual(on.observed, without.observed);
      const reported = on.reported.map(idOf);
      assert.equal(new Set(reported).size, reported.length);
      const timesOf = (kind: Observation['kind']) => on.observed.filter((it) => it.kind === kind).length;
      const outcomes = runs(on).map(({ outcome }) => outcome);
      const lost = outcomes.filter((outcome) => outcome === 'lost').length;
      const succeeded_ = outcomes.filter((outcome) => outcome === 'succeeded').length;
      assert.equal(lost, timesOf('task-lost'));
      assert.ok(succeeded_ <= timesOf('task-succeeded'));
      const withoutEnd = outcomes.filter(
        (outcome) => outcome === 'unknown' || outcome === 'redelivered',
      ).length;
      // Unless a run without an end, or a lost one, ended after all or is redelivered.
      assert.ok(succeeded_ >= timesOf('task-succeeded') - timesOf('loss-refuted') - withoutEnd);
    }
  });
}

test('a flood of tasks with long ids and arguments stays within the bounds of the tables', () => {
  floodOfTexts(10_000);
});
