/** The list of events that has the most held events applied: those due, those of evicted tasks, and those in the way. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RawMessage } from '../../src/broker/broker.ts';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { combinationOf, METER_NAME } from '../../src/meter/catalog.ts';
import { createRecorder } from '../../src/meter/recorder.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { bound } from '../bound.ts';
import { message } from '../celery/wire.ts';
import { atOnce } from '../cluster/at-once.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { leastMs, normalMs } from '../processor-time.ts';
import { serviceAt } from './recorded-service.ts';

const { choice, cluster: DEFAULTS } = serviceAt('shop', 'amqp://broker');
const EVENTS = BODY_LIMITS.batch.max;
const SENDERS = 2 * EVENTS;
/** More than may be held of a task or of a process; they arrive in the order that is sorted fastest. */
const EACH = 62;
const WINDOW_MS = 1_000;
const TASKS_MAX = 20_000;
const T0_MS = 1_790_000_000_000;
const CPU_MS_MAX = 50;
/** Of a traceback, so that a list is nearly as large as a body may be. */
const TRACEBACK_BYTES = Math.floor(BODY_LIMITS.body.max / EVENTS - 300);
/** Two due task events, two due worker events, sixteen of an evicted task, and one to make room. */
const APPLIED_MAX = 2 + 2 + 16 + 1;

const DURING = 'During handling of the above exception, another exception occurred:';
const BECAUSE = 'The above exception was the direct cause of the following exception:';

type Fields = Readonly<Record<string, unknown>>;

/** A cluster whose observations are recorded by real instruments. */
function recorded(heldMax: number) {
  const { streams } = otlpSettings('http://127.0.0.1:1');
  const provider = createProvider({
    ...{ name: 'shop', resource: serviceResource('shop', {}), settings: streams, combination: combinationOf },
    yieldToLoop: createYieldToLoop(),
    onFailure: (failure) => assert.fail(String(failure)),
  });
  const recorder = createRecorder(
    provider.getMeter(METER_NAME),
    () => ({ workers: [], queues: [], ends: [] }),
    choice,
  );
  let observed = 0;
  const settings = { ...DEFAULTS, windowMs: WINDOW_MS, tasksMax: TASKS_MAX, heldMax };
  const cluster = createCluster(settings, (observation) => {
    observed += 1;
    recorder.record(observation);
  });
  /** @returns the most observations that followed from one event */
  function apply(events: readonly CeleryEvent[], atMs: number): number {
    let most = 0;
    for (const event of events) {
      const before = observed;
      cluster.apply(event, T0_MS + atMs, atMs);
      most = Math.max(most, observed - before);
    }
    return most;
  }
  function arriveAs(list: RawMessage, atMs: number): number {
    const { events, rejections } = decode(list);
    assert.deepEqual(rejections, []);
    return apply(events, atMs);
  }
  function arrive(events: readonly Fields[], atMs: number): void {
    for (let at = 0; at < events.length; at += EVENTS)
      arriveAs(message(JSON.stringify(events.slice(at, at + EVENTS))), atMs);
  }
  function settle(atMs: number): void {
    atOnce(cluster.settle(() => ({ wallMs: T0_MS + atMs, listenedMs: atMs })));
  }
  return { cluster, arrive, arriveAs, settle };
}

/** What each of the senders sends, the last first. */
function backwards(count: number, each: (sender: number, place: number) => Fields): readonly Fields[] {
  return Array.from({ length: EACH * count }, (_, index) =>
    each(index % count, EACH - Math.floor(index / count)),
  );
}

const at = (atMs: number, clock: number) => ({ timestamp: (T0_MS + atMs) / 1000, pid: 7, clock });

function receipt(uuid: string, place: number, atMs: number): Fields {
  const name = `shop.${uuid}_${place}`;
  return { type: 'task-received', hostname: 'w@shop', uuid, name, ...at(atMs, 10_000 * (1 + atMs) + place) };
}

function heartbeat(sender: number, place: number, atMs: number): Fields {
  const hostname = `w${sender}@shop`;
  const figures = { active: 1, processed: place, loadavg: [1, 1, 1], sw_ver: '5.4', sw_sys: 'Linux' };
  return { type: 'worker-heartbeat', hostname, ...figures, ...at(atMs, place) };
}

/** Failures whose class must be looked for in a long text that consists of a part, which has so many bytes in JSON. */
function failures(part: string, bytes: number) {
  const [exception, traceback] = ['ExceptionWithTraceback(', ` ${part.repeat(TRACEBACK_BYTES / bytes)}\n`];
  return (uuid: string, place: number, atMs: number): Fields => ({
    ...receipt(uuid, place, atMs),
    ...{ type: 'task-failed', exception, traceback },
  });
}

/** Checks how many are applied for each event of the list; @returns ms of a normal machine that the list takes */
function costOf(last: typeof receipt, t: TestContext): number {
  const { cluster, arrive, arriveAs, settle } = recorded(16 * (SENDERS + EVENTS));
  // Tasks that have begun: the first ones are the next to be evicted, the others move to the end as theirs are applied.
  arrive(
    Array.from({ length: TASKS_MAX }, (_, index) => receipt(`u${index}`, 0, 0)),
    0,
  );
  settle(2 * WINDOW_MS);
  const beganMs = 3 * WINDOW_MS;
  const due = (sender: number, place: number) => receipt(`u${TASKS_MAX - 1 - sender}`, place, beganMs);
  arrive(backwards(SENDERS, due), beganMs);
  arrive(
    backwards(SENDERS, (sender, place) => heartbeat(sender, place, beganMs)),
    beganMs,
  );
  const laterMs = beganMs + WINDOW_MS / 2;
  // With the one it has had, no task has more than may be held.
  for (let place = 16; place > 0; place -= 1)
    arrive(
      Array.from({ length: EVENTS }, (_, index) => receipt(`u${index}`, place, laterMs)),
      laterMs,
    );
  const atMs = beganMs + WINDOW_MS + 101;
  const before = cluster.tables();
  const list = Array.from({ length: EVENTS }, (_, index) => last(`new${index}`, 1, atMs));
  const costliest = message(JSON.stringify(list));
  let most = 0;
  const cpuMs = normalMs(() => {
    most = arriveAs(costliest, atMs);
  });
  const after = cluster.tables();
  t.diagnostic(`${Math.round(cpuMs)} ms, ${most} applied for one event`);
  assert.equal(after.tasks.evicted - before.tasks.evicted, EVENTS);
  assert.ok(most > 16 && most <= APPLIED_MAX, `${most} applied for one event`);
  return cpuMs;
}

for (const [name, last] of [
  ['receipts', receipt],
  ['failures with wide texts', failures('é😀', 6)],
  ['failures with short lines', failures('\n ', 3)],
  ['failures with lines that chain no exceptions', failures(`x${DURING}\n\n `, DURING.length + 6)],
  [
    'failures with lines of both kinds that chain no exceptions',
    failures(`é${DURING}\n\n x${BECAUSE}\n\n `, DURING.length + BECAUSE.length + 13),
  ],
  [
    'failures with escaped lines that chain no exceptions',
    failures(`\\n\n${DURING}\n\n `, DURING.length + 10),
  ],
] as const)
  test(`of a list of ${name} at most ${APPLIED_MAX} events are applied for each, in at most ${CPU_MS_MAX} ms`, async (t) => {
    const cpuMs = await leastMs(CPU_MS_MAX, () => costOf(last, t));
    bound(t, `a list of ${name}`, cpuMs, CPU_MS_MAX, 'ms');
  });
