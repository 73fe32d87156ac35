/**
 * Fills a cluster with tasks of one kind and prints their memory after a full collection, and the cluster’s own
 * estimate. Run it in its own process.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RawMessage } from '../../src/broker/broker.ts';
import { decode } from '../../src/celery/decode.ts';
import { type Cluster, createCluster } from '../../src/cluster/cluster.ts';
import { collectAt } from './collection.ts';
import { SETTINGS, T0_MS } from './events.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The longest name that is read, of characters that take two bytes each. */
function longest(beginning: string): string {
  return `${beginning}${'\u4e00'.repeat(255)}`.slice(0, 255);
}

function ofLife(task: number, events: number): readonly Fields[] {
  const uuid = `${task.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const name = `shop.orders.tasks.handle_order_of_kind_${task % 200}`;
  const hostname = `celery@shop-orders-worker-7f9c6d5b4-${task % 50}`;
  const of = { uuid, hostname, pid: 17 };
  const sender = { hostname: `gen${task % 100}@shop-web-${task % 100}`, pid: 7 };
  const life = [
    { ...of, ...sender, type: 'task-sent', name, queue: `orders-${task % 20}`, routing_key: 'orders' },
    { ...of, type: 'task-received', name },
    { ...of, type: 'task-started' },
    { ...of, type: 'task-succeeded', runtime: 0.25 },
  ];
  return life.slice(0, events).map((event, clock) => ({ ...event, clock }));
}

/** Each kind: how many tasks, and the events of one of them. */
const KINDS: Readonly<Record<string, readonly [tasks: number, events: (task: number) => readonly Fields[]]>> =
  {
    'that are sent': [100_000, (task) => ofLife(task, 1)],
    'that run': [100_000, (task) => ofLife(task, 3)],
    'that are over': [100_000, (task) => ofLife(task, 4)],
    'with eight sendings of the longest names': [
      12_000,
      (task) =>
        Array.from({ length: 8 }, (_, nth) => ({
          type: 'task-sent',
          uuid: longest(`u${task}`),
          hostname: longest(`gen${task}.${nth}@`),
          name: longest(`n${task}.${nth}`),
          queue: longest(`q${task}.${nth}`),
          clock: nth,
          retries: nth,
        })),
    ],
    'with eight runs of the longest names, each sent by another client': [
      12_000,
      (task) =>
        Array.from({ length: 8 }, (_, nth) => ({
          type: nth % 2 === 0 ? 'task-started' : 'task-received',
          uuid: longest(`u${task}`),
          hostname: longest(`gen1@${task}.${nth}`),
          name: longest(`n${task}.${nth}`),
          clock: nth,
          retries: nth,
        })),
    ],
    'that each run on another worker': [
      60_000,
      (task) => [
        { type: 'task-started', uuid: longest(`u${task}`), hostname: longest(`w${task}`), pid: 1, clock: 1 },
      ],
    ],
  };

const TASKS_A_MESSAGE = 10;
const TASKS_A_SECOND = 2_000;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const [tasks, eventsOf] = KINDS[process.argv[2] ?? ''] ?? [0, () => []];
// Compiling the code takes memory too.
fill(newCluster(), 2_000);
const before = memoryBytes();
const cluster = newCluster();
fill(cluster, tasks);
const after = memoryBytes();
const { size, bytes, bytesMax, evicted } = cluster.tables().tasks;
process.stdout.write(JSON.stringify({ taken: after - before, size, bytes, bytesMax, evicted }));

function fill(into: Cluster, count: number): void {
  for (let from = 0; from < count; from += TASKS_A_MESSAGE) {
    const atMs = T0_MS + (from * 1000) / TASKS_A_SECOND;
    const message = messageOf(from, atMs);
    for (const event of decode(message).events) into.apply(event, atMs, atMs);
  }
  const endMs = T0_MS + (count * 1000) / TASKS_A_SECOND + 5_000;
  collectAt(into, endMs);
}

function messageOf(from: number, atMs: number): RawMessage {
  const events = Array.from({ length: TASKS_A_MESSAGE }, (_, index) => eventsOf(from + index)).flat();
  const body = JSON.stringify(
    events.map((event, nth) => ({ ...event, timestamp: (atMs + nth / 100) / 1000 })),
  );
  return {
    arrivedAtMs: atMs,
    exchange: 'celeryev',
    routingKey: 'task.multi',
    contentType: 'application/json',
    contentEncoding: 'utf-8',
    headers: {},
    body: Buffer.from(body),
  };
}

function newCluster(): Cluster {
  return createCluster(
    { ...SETTINGS, tasksMax: 100_000, workersMax: 10_000, heldMax: 100_000, windowMs: 1_000 },
    () => {},
  );
}

function memoryBytes(): number {
  for (let round = 0; round < 3; round += 1) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
