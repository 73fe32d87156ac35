/**
 * One process of `tracing-cost.ts`: a service of the configuration that its environment gives, without a broker. For each line of
 * its input it runs as many tasks, waits until all spans are sent, and prints what that took of the processor, in µs.
 */

import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RawMessage } from '../../src/broker/broker.ts';
import { decode } from '../../src/celery/decode.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { combinationOf, METER_NAME } from '../../src/meter/catalog.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import { createBatchExport } from '../../src/otlp/batch-export.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { ITEM_SIGNALS } from '../../src/otlp/signals.ts';
import { createTelemetry } from '../../src/service/telemetry.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { finishedRuns } from '../../src/tracer/ancestry/finished-runs.ts';
import { collection } from '../cluster/collection.ts';

const TASKS = 20;
const WORKERS = 4;
const TASKS_A_SECOND = 1000;
const TASKS_A_TURN = 50;
const SECONDS_BETWEEN_COLLECTIONS = 10;
/** Of simulated time: so long after a block, none of its events is held. */
const REST_MS = 5000;
/** As many as make a batch: a bridge that is not overloaded sends it at once. */
const WAITING_MAX = 512;

const loaded = loadConfig({ argv: [], env: process.env });
if (!loaded.ok) throw new Error(JSON.stringify(loaded));
const { services, otlp, traces, exemplarFilter } = loaded.config;
const [service] = services;
const yieldToLoop = createYieldToLoop();
const fail = (reason: unknown): never => {
  throw new Error(String(reason));
};
const resource = serviceResource(service.name, {});
const provider = createProvider({
  ...{ name: service.name, resource, settings: otlp.streams, combination: combinationOf, yieldToLoop },
  onFailure: fail,
});
let sent = 0;
let arrival = Promise.withResolvers<void>();
const batches =
  traces &&
  createBatchExport(ITEM_SIGNALS.traces, traces.exporter, traces.batch, {
    onExport: ({ outcome, reason, items }) => {
      if (outcome !== 'success') fail(reason);
      sent += items;
      arrival.resolve();
      arrival = Promise.withResolvers();
    },
    onDrop: (_, reason) => fail(reason),
    onDefect: fail,
    random: () => 0,
    yieldToLoop,
  });
const line = batches?.open(service.name, resource);
batches?.start();
const telemetry = createTelemetry(
  {
    ...{ service: service.name, broker: service.broker, report: fail, exemplarFilter },
    spans: traces && line && { ...traces, add: line.add },
    records: undefined,
  },
  (...measured) => recorder.exemplify(...measured),
);
const cluster = createCluster(
  { ...service.cluster, hashSeed: 1 },
  (observation) => {
    recorder.record(observation);
    telemetry?.observe(observation, nowMs);
  },
  telemetry && finishedRuns(telemetry.listener),
);
let nowMs = Date.now();
let tasks = 0;
const recorder = createRecorder(
  provider.getMeter(METER_NAME),
  () => {
    const steps = collection(cluster, () => ({ wallMs: nowMs, listenedMs: nowMs }));
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  },
  service.choice,
);

for await (const input of createInterface(process.stdin)) {
  const count = Number(input);
  const before = sent;
  let spentUs = 0;
  for (let from = 0; from < count; from += TASKS_A_TURN) {
    // Made outside of what is measured.
    const messages = Array.from({ length: TASKS_A_TURN }, () => lifecycle());
    spentUs += await cpuUs(async () => {
      for (const message of messages) apply(message);
      if (tasks % (TASKS_A_SECOND * SECONDS_BETWEEN_COLLECTIONS) === 0) await provider.collect();
      await nextTurn();
      await until(WAITING_MAX);
    });
  }
  spentUs += await cpuUs(async () => {
    nowMs += REST_MS;
    await provider.collect();
    await until(0);
  });
  process.stdout.write(`${JSON.stringify({ spentUs, spans: sent - before })}\n`);
}
process.exit(0);

/** Until no more spans wait than that. */
async function until(waitingMax: number): Promise<void> {
  while ((batches?.held().items ?? 0) > waitingMax) await arrival.promise;
}

/** Of all threads. */
async function cpuUs(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function apply(message: RawMessage): void {
  for (const event of decode(message, message.arrivedAtMs, undefined, telemetry?.wants).events)
    cluster.apply(event, message.arrivedAtMs, message.arrivedAtMs);
}

/** The four events of a task that succeeds, in one message. */
function lifecycle(): RawMessage {
  tasks += 1;
  nowMs += 1000 / TASKS_A_SECOND;
  const uuid = randomUUID();
  const worker = { hostname: `worker-${tasks % WORKERS}@shop`, pid: 17, utcoffset: 0 };
  const task = {
    ...{
      uuid,
      name: `shop.tasks.task_${tasks % TASKS}`,
      root_id: uuid,
      parent_id: null,
      retries: 0,
      eta: null,
    },
    ...{ args: `(${tasks}, 'an argument of usual length')`, kwargs: "{'urgent': False}", expires: null },
  };
  const at = (type: string, afterMs: number) => ({
    ...{ type, clock: 4 * tasks + afterMs, timestamp: (nowMs - 30 + afterMs) / 1000 },
  });
  const sending = { hostname: 'gen4711@shop', pid: 4711, utcoffset: 0, queue: 'orders' };
  const life = [
    { ...sending, ...task, exchange: '', routing_key: 'orders', ...at('task-sent', 0) },
    { ...worker, ...task, ...at('task-received', 2) },
    { ...worker, uuid, ...at('task-started', 4) },
    { ...worker, uuid, result: "{'ok': True}", runtime: 0.0213, ...at('task-succeeded', 30) },
  ];
  return {
    arrivedAtMs: nowMs,
    ...{
      exchange: 'celeryev',
      routingKey: 'task.multi',
      contentType: 'application/json',
      contentEncoding: 'utf-8',
    },
    headers: {},
    body: Buffer.from(JSON.stringify(life)),
  };
}
