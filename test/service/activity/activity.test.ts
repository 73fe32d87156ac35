/** What is kept of tasks and events for people, by the time of arrivals. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterView, Observation } from '../../../src/cluster/observation.ts';
import { Activity, TASKS_MAX } from '../../../src/service/activity/activity.ts';
import { History } from '../../../src/service/activity/history.ts';
import { LogHistogram } from '../../../src/service/activity/log-histogram.ts';

const VIEW: ClusterView = { workers: [], queues: [], ends: [] };
const MINUTE_MS = 60_000;
const START_MS = 1_790_000_100_000;
const run = (task: string, queue = 'orders') => ({ task, queue, worker: 'w1@a' });
const succeeded = (task: string, runtimeS: number): Observation => ({
  kind: 'task-succeeded',
  run: run(task),
  runtimeS,
});
const failed = (task: string, errorType: string): Observation => ({
  kind: 'task-failed',
  run: run(task),
  errorType,
  runtimeS: undefined,
});

function read(activity: Activity, nowMs: number) {
  const { tasks, ...all } = activity.read(nowMs, VIEW);
  return { ...all, tasks: new Map(tasks()) };
}

test('counts, runtimes, the failure ratio and the top exceptions of a task', () => {
  const activity = new Activity();
  for (const runtimeS of [0.1, 0.1, 0.1, 20]) activity.observe(succeeded('pay', runtimeS), START_MS);
  for (const type of ['KeyError', 'IOError', 'IOError', 'A', 'A', 'A', 'B', 'B', 'B', 'B'])
    activity.observe(failed('pay', type), START_MS + 1000);
  const pay = read(activity, START_MS + MINUTE_MS).tasks.get('pay');
  assert.ok(pay);
  assert.deepEqual([pay.recent.succeeded, pay.recent.failed, pay.recent.lost], [4, 10, 0]);
  assert.equal(pay.failureRatio, 10 / 14);
  assert.ok(Math.abs((pay.runtimeP50S ?? 0) / 0.1 - 1) < 0.1, `${pay.runtimeP50S}`);
  assert.ok(Math.abs((pay.runtimeP95S ?? 0) / 20 - 1) < 0.1, `${pay.runtimeP95S}`);
  assert.deepEqual(pay.errors, [
    ['B', 4],
    ['A', 3],
    ['IOError', 2],
  ]);
});

test('after ten minutes only totals are left, and the span is between five and ten minutes', () => {
  const activity = new Activity();
  activity.observe(failed('pay', 'KeyError'), START_MS);
  assert.equal(read(activity, START_MS + 20_000).spanMs, 20_000);
  const later = read(activity, START_MS + 12 * MINUTE_MS);
  assert.ok(later.spanMs >= 5 * MINUTE_MS && later.spanMs <= 10 * MINUTE_MS, `${later.spanMs}`);
  const pay = later.tasks.get('pay');
  assert.deepEqual([pay?.recent.failed, pay?.total.failed, pay?.failureRatio], [0, 1, undefined]);
  assert.deepEqual(pay?.errors, []);
});

test('a run is open from its start to its end, or to its loss', () => {
  const activity = new Activity();
  const of = { run: run('pay') };
  const started: Observation = {
    kind: 'task-started',
    ...of,
    waitTimeS: undefined,
    prefetchTimeS: undefined,
  };
  const open = () => read(activity, START_MS).tasks.get('pay')?.open;
  const after = (...observations: readonly Observation[]) => {
    for (const observation of observations) activity.observe(observation, START_MS);
    return open();
  };
  assert.equal(after(started, started, started, { kind: 'task-sent', ...of }), 3);
  assert.equal(after(succeeded('pay', 1)), 2);
  assert.equal(after({ kind: 'task-revoked', ...of, revocation: 'expired' }), 2, 'it had not started');
  assert.equal(after({ kind: 'task-revoked', ...of, revocation: 'terminated' }), 1);
  assert.equal(after({ kind: 'task-lost', ...of }), 0);
  assert.equal(after({ kind: 'loss-refuted', ...of }), 1);
  assert.equal(after(failed('pay', 'KeyError')), 0);
  assert.equal(after(succeeded('pay', 1)), 0, 'one whose start was not seen');
});

test('a loss that is refuted is taken back', () => {
  const activity = new Activity();
  activity.observe({ kind: 'task-lost', run: run('pay') }, START_MS);
  activity.observe({ kind: 'loss-refuted', run: run('pay') }, START_MS);
  assert.equal(read(activity, START_MS).tasks.get('pay')?.total.lost, 0);
});

test('names beyond the bound are counted together, and one that is idle for an hour makes room', () => {
  const activity = new Activity();
  for (let index = 0; index < TASKS_MAX + 10; index += 1)
    activity.observe(succeeded(`task ${index}`, 1), START_MS);
  const full = read(activity, START_MS);
  assert.deepEqual([full.taskNames, full.otherTasks?.total.succeeded], [TASKS_MAX, 10]);
  activity.observe(succeeded('late', 1), START_MS + 61 * MINUTE_MS);
  assert.deepEqual([...read(activity, START_MS + 61 * MINUTE_MS).tasks.keys()], ['late']);
});

test('names that are numbers or of the language are names', () => {
  const activity = new Activity();
  for (const name of ['1', '__proto__', '#']) activity.observe(succeeded(name, 1), START_MS);
  assert.deepEqual([...read(activity, START_MS).tasks.keys()], ['1', '__proto__', '#']);
});

test('waiting times are kept by queue', () => {
  const activity = new Activity();
  const started: Observation = {
    ...{ kind: 'task-started', run: run('pay', 'slow'), waitTimeS: 4, prefetchTimeS: undefined },
  };
  activity.observe(started, START_MS);
  const { waitP95S } = activity.read(START_MS, VIEW);
  assert.ok(Math.abs((waitP95S('slow') ?? 0) / 4 - 1) < 0.1);
  assert.equal(waitP95S('orders'), undefined);
});

test('of minutes in which nothing arrived nothing is known', () => {
  const activity = new Activity();
  const startMs = START_MS - (START_MS % MINUTE_MS);
  const atMinute = (minute: number) => startMs + minute * MINUTE_MS;
  for (const minute of [0, 1, 4]) activity.history.set(atMinute(minute) / 10_000 + 3, 5);
  activity.observe(failed('pay', 'KeyError'), atMinute(0.5));
  activity.observe(failed('pay', 'KeyError'), atMinute(4.5));
  const hour = activity.hourOfTask('pay', atMinute(5.5));
  assert.deepEqual(hour?.column('failed'), [1, 0, Number.NaN, Number.NaN, 1, 0]);
});

test('the history has the complete windows of an hour', () => {
  const history = new History();
  assert.deepEqual(history.before(1000), []);
  history.set(1000, 5);
  history.set(1003, 7);
  assert.deepEqual(history.before(1000), []);
  assert.deepEqual(history.before(1006), [5, 0, 0, 7, 0, 0]);
  history.set(1003, 8);
  assert.deepEqual(history.before(1005), [5, 0, 0, 8, 0]);
  assert.deepEqual(history.before(1003 + 360), [8, ...Array.from({ length: 359 }, () => 0)]);
  assert.equal(Math.max(...history.before(5000)), 0);
});

test('a quantile is within a tenth, from a millisecond to two days', () => {
  assert.equal(LogHistogram.quantile([], 0.5), undefined);
  for (const seconds of [0.002, 0.35, 1, 59, 3600, 86_400]) {
    const spread = new LogHistogram();
    spread.add(seconds);
    const median = LogHistogram.quantile([spread], 0.5) ?? 0;
    assert.ok(Math.abs(median / seconds - 1) < 0.1, `${seconds}: ${median}`);
  }
  const odd = new LogHistogram();
  for (const seconds of [0, -1, Number.MAX_VALUE]) odd.add(seconds);
  assert.ok((LogHistogram.quantile([odd], 1) ?? 0) > 86_400);
});
