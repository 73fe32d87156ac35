/** Single things in the state of a cluster: what a task id does now, what a worker runs, who consumes a queue. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from './at-once.ts';
import { failed, received, sent, signal, started, succeeded, T0_MS, WORKER, watch } from './events.ts';
import { report, type Story } from './listening.ts';
import { heartbeats, running, report as tell } from './stories.ts';

const momentAt = (afterMs: number) => ({ wallMs: T0_MS + afterMs, listenedMs: T0_MS + afterMs });

function after(story: Story) {
  const on = watch();
  report(on, story);
  on.cluster.flush();
  return on.cluster.lookup;
}

/** The stages of the task, each with its queue, worker and age. */
function stagesOf(story: Story, afterMs: number): readonly string[] {
  return after(story)
    .openRuns('u1', momentAt(afterMs))
    .map(({ stage, task, queue, worker, sinceMs = Number.NaN }) =>
      [stage, task, queue, worker, T0_MS + afterMs - sinceMs].join(' '),
    );
}

test('a task that is sent, scheduled, prefetched, running or over is found as that', () => {
  assert.deepEqual(stagesOf([[0, sent()]], 4_000), ['sent shop.pay orders  4000']);
  const etaMs = T0_MS + 60_000;
  assert.deepEqual(stagesOf([[0, received({ etaMs })]], 4_000), [
    `scheduled shop.pay unknown ${WORKER} -56000`,
  ]);
  assert.deepEqual(stagesOf([[0, received()]], 4_000), [`waiting shop.pay unknown ${WORKER} 4000`]);
  const running: Story = [
    [0, sent()],
    [10, received()],
    [1_000, started()],
  ];
  assert.deepEqual(stagesOf(running, 4_000), [`running shop.pay orders ${WORKER} 3000`]);
  assert.deepEqual(stagesOf([...running, [2_000, succeeded()]], 4_000), []);
  assert.deepEqual(after(running).openRuns('u2', momentAt(0)), []);
});

test('a run that is lost is not open, and one whose end may have been missed is doubtful', () => {
  const on = watch();
  const alive = { uuid: 'u2' };
  tell(on, [...running('u1', 0), ...heartbeats(2, 10, 2)]);
  assert.deepEqual(on.cluster.lookup.openRuns('u1', momentAt(20_000)).length, 1);
  on.cluster.collect(T0_MS + 150_000);
  assert.deepEqual(on.cluster.lookup.openRuns('u1', momentAt(150_000)), []);
  report(on, [[200_001, received(alive)]]);
  on.cluster.gap();
  assert.deepEqual(
    on.cluster.lookup.openRuns('u2', momentAt(200_002)).map(({ stage }) => stage),
    ['doubtful'],
  );
});

test('a worker runs its own tasks, the oldest first, and only as many as requested are listed', () => {
  const other = { hostname: 'w2@shop', pid: 18 };
  const story: Story = Array.from({ length: 30 }, (_, index): Story => {
    const uuid = `u${29 - index}`;
    return [
      [index, received({ uuid })],
      [1_000 + index, started({ uuid })],
    ];
  }).flat();
  const lookup = after([
    ...story,
    [0, received({ uuid: 'x', ...other })],
    [1, started({ uuid: 'x', ...other })],
    [2_000, failed('KeyError', { uuid: 'u29' })],
    [2_001, received({ uuid: 'waits' })],
  ]);
  const { total, oldest } = atOnce(lookup.runningOn(WORKER, 5, momentAt(3_000)));
  assert.equal(total, 29);
  assert.deepEqual(
    oldest.map(({ id }) => id),
    ['u28', 'u27', 'u26', 'u25', 'u24'],
  );
  assert.equal(atOnce(lookup.runningOn('nobody', 5, momentAt(3_000))).total, 0);
});

test('the consumers of a queue are the workers that are up and reported it; unknown unless they are asked', () => {
  const on = watch();
  report(on, [
    [0, signal('worker-heartbeat')],
    [1, signal('worker-heartbeat', { hostname: 'w2@shop', pid: 18 })],
    [2, signal('worker-heartbeat', { hostname: 'w3@shop', pid: 19 })],
  ]);
  on.cluster.collect(T0_MS + 10);
  const { lookup, answers } = on.cluster;
  const consumers = (afterMs: number) => atOnce(lookup.consumersOf('orders', momentAt(afterMs)));
  assert.equal(consumers(20), undefined);
  answers.workersAsked(() => 0);
  answers.consumes(WORKER, ['orders', 'mails'], momentAt(20));
  answers.consumes('w2@shop', ['mails'], momentAt(20));
  assert.deepEqual(consumers(30), [WORKER]);
  assert.deepEqual(lookup.queuesOf(WORKER, momentAt(30)), ['orders', 'mails']);
  assert.equal(lookup.queuesOf('w3@shop', momentAt(30)), undefined);
  assert.deepEqual(consumers(100_000), []);
});
