/**
 * Measures the cost of the pure rooms (`celery/` and `cluster/`) per event and task: a million tasks on a thousand
 * changing workers, without sockets. Exits with 1 if memory grows with the number of past tasks, if the cost of an
 * event does, or if a live task takes more memory than allowed. `--listen` measures it with a listener for finished runs.
 */

import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RawMessage } from '../../src/broker/broker.ts';
import { decode } from '../../src/celery/decode.ts';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import { finishedRuns } from '../../src/tracer/ancestry/finished-runs.ts';
import { collectAt } from '../cluster/collection.ts';
import { SETTINGS } from '../cluster/events.ts';

const WORKERS = 1_000;
/** How many of the thousand are there at a time. */
const WORKERS_AT_ONCE = 50;
const TASKS_A_SECOND = 2_000;
const TASKS_A_BATCH = 200;
/** At the end. */
const BLOCKS_COMPARED = 3;
const EVENTS_PER_TASK = 4;
/** What a usual export interval is. */
const SECONDS_BETWEEN_COLLECTIONS = 10;
/** From the full table to the same table after all its entries have been replaced. */
const HEAP_STEP_MAX = 1.15;
/** From then on, in bytes: each new worker brings names for its tasks, which are kept up to a bound. */
const HEAP_GROWTH_MAX = 1_450_000;
const COST_GROWTH_MAX = 1.2;
const BYTES_PER_LIVE_TASK_MAX = { plain: 400, listening: 700 };
const T0_MS = 1_795_260_275_000;

/** The state of a remembered task, by the number of its events. */
const STAGES = { 'is sent': 1, 'is received': 2, runs: 3, 'is over': 4 } as const;

const { values: options } = parseArgs({
  options: {
    tasks: { type: 'string', default: '1000000' },
    only: { type: 'string' },
    listen: { type: 'boolean' },
  },
});
const TASKS = Number(options.tasks);
const BLOCK = TASKS / 10;
const LIVE_TASKS = BLOCK;
const wants =
  options.listen === true ? { lineage: true, errors: true, arguments: false, traced: false } : undefined;
const listener = wants && {
  service: 'shop',
  onFinished: () => {},
  beginsTrace: () => false,
  delayMaxMs: 600_000,
};

// Like `--expose-gc`, but without a flag for the user to know.
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

let passed = true;
if (options.only !== 'memory') comeAndGo();
if (options.only !== 'cost') liveTasks();
process.exitCode = passed ? 0 : 1;

/** Blocks of tasks, each with its events in lists as workers send them. */
function comeAndGo(): void {
  const cluster = newCluster();
  const growths: number[] = [];
  const heaps: number[] = [];
  for (let from = 0; from < TASKS; from += BLOCK) {
    const [costUs, growth] = runBlock(cluster, from, from >= TASKS - BLOCKS_COMPARED * BLOCK);
    if (growth !== undefined) growths.push(growth);
    heaps.push(heapBytes());
    print(
      `${from + BLOCK} tasks: ${costUs.toFixed(2)} µs an event${growth === undefined ? '' : `, ${growth.toFixed(2)} times that of a first block`}, heap ${((heaps.at(-1) ?? 0) / 1e6).toFixed(1)} MB`,
    );
  }
  const growth = growths.sort((one, other) => one - other)[Math.floor(growths.length / 2)] ?? Number.NaN;
  const [firstHeap = 0, secondHeap = 0, ...laterHeaps] = heaps;
  check('cost of an event beside that of a first block', growth, COST_GROWTH_MAX);
  check('heap after the second block beside the first', secondHeap / firstHeap, HEAP_STEP_MAX);
  check('bytes by which the heap is larger later', Math.max(...laterHeaps) - secondHeap, HEAP_GROWTH_MAX);
}

/**
 * @param compared whether to alternate with a new cluster that gets its first block: other load on the machine then
 * affects both
 * @returns µs per event, and the ratio to the cost in the new cluster
 */
function runBlock(
  cluster: Cluster,
  from: number,
  compared: boolean,
): readonly [costUs: number, growth: number | undefined] {
  const fresh = compared ? newCluster() : undefined;
  let [spentUs, freshUs] = [0, 0];
  for (let at = 0; at < BLOCK; at += TASKS_A_BATCH) {
    spentUs += runBatch(cluster, from + at);
    if (fresh !== undefined) freshUs += runBatch(fresh, at);
  }
  return [spentUs / (BLOCK * EVENTS_PER_TASK), fresh === undefined ? undefined : spentUs / freshUs];
}

/** µs of the processor. */
function runBatch(cluster: Cluster, from: number): number {
  const messages = Array.from({ length: TASKS_A_BATCH }, (_, index) => lifecycle(from + index));
  const started = process.cpuUsage();
  for (const message of messages) {
    for (const event of decode(message, 0, undefined, wants).events)
      cluster.apply(event, message.arrivedAtMs, message.arrivedAtMs);
  }
  if (from % (TASKS_A_SECOND * SECONDS_BETWEEN_COLLECTIONS) === 0) collectAt(cluster, timeOf(from));
  const { user, system } = process.cpuUsage(started);
  return user + system;
}

function liveTasks(): void {
  // Compiling the code takes memory too.
  fill(newCluster(), 1_000, EVENTS_PER_TASK);
  for (const [stage, events] of Object.entries(STAGES)) {
    const cluster = newCluster();
    const before = heapBytes();
    fill(cluster, LIVE_TASKS, events);
    const bytes = (heapBytes() - before) / LIVE_TASKS;
    const { tasks } = cluster.tables();
    if (tasks.size !== LIVE_TASKS) throw new Error(`${tasks.size} tasks`);
    check(
      `bytes for a task that ${stage}`,
      bytes,
      BYTES_PER_LIVE_TASK_MAX[listener === undefined ? 'plain' : 'listening'],
    );
  }
}

function fill(cluster: Cluster, tasks: number, events: number): void {
  for (let index = 0; index < tasks; index += 1) {
    const message = lifecycle(index, events);
    for (const event of decode(message, 0, undefined, wants).events)
      cluster.apply(event, message.arrivedAtMs, message.arrivedAtMs);
  }
  collectAt(cluster, timeOf(tasks + TASKS_A_SECOND * 2));
}

function newCluster(): Cluster {
  return createCluster(
    { ...SETTINGS, tasksMax: LIVE_TASKS, heldMax: 100_000, seriesRetentionMs: 60_000 },
    () => {},
    listener && finishedRuns(listener),
  );
}

function timeOf(task: number): number {
  return T0_MS + (task * 1000) / TASKS_A_SECOND;
}

function lifecycle(index: number, events = EVENTS_PER_TASK): RawMessage {
  const atMs = timeOf(index);
  const nth = Math.floor((index / TASKS) * (WORKERS - WORKERS_AT_ONCE)) + (index % WORKERS_AT_ONCE);
  const uuid = `${index.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const worker = { hostname: `worker-${nth}@shop`, pid: nth + 1, utcoffset: 0, uuid };
  const family = { root_id: uuid, parent_id: null };
  const task = {
    ...family,
    name: `shop.tasks.task_${index % 20}`,
    retries: 0,
    eta: null,
    args: '(1, 2)',
    kwargs: '{}',
  };
  const at = (type: string, afterMs: number) => ({
    type,
    timestamp: (atMs + afterMs) / 1000,
    clock: afterMs,
  });
  const life = [
    {
      ...task,
      uuid,
      hostname: 'gen7@shop',
      pid: 7,
      queue: 'orders',
      routing_key: 'orders',
      ...at('task-sent', 0),
    },
    { ...worker, ...task, ...at('task-received', 2) },
    { ...worker, ...at('task-started', 4) },
    { ...worker, runtime: 0.25, ...at('task-succeeded', 30) },
  ];
  return {
    arrivedAtMs: atMs,
    exchange: 'celeryev',
    routingKey: 'task.multi',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: {},
    body: Buffer.from(JSON.stringify(life.slice(0, events))),
  };
}

function heapBytes(): number {
  for (let round = 0; round < 3; round += 1) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function check(what: string, value: number, max: number): void {
  print(`${what}: ${value.toFixed(2)}, at most ${max}`);
  passed &&= value <= max;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
