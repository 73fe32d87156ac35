/**
 * The most memory that the process takes, as the operating system sees it: with an ordinary cluster of a hundred
 * thousand tasks and ten thousand series, and with any texts, workers and processes that a sender can make up.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { bound } from '../bound.ts';
import { borrowRabbitmq, type Vhosts } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { type BuiltMain, buildMain } from './built-main.ts';
import { type EventFields, event, inLists, listOf, publishRaw } from './publish.ts';
import { receivedTotals } from './received-totals.ts';

const HONEST_MIB_MAX = 200;
const HOSTILE_MIB_MAX = 512;
const CAUGHT_UP_MS = 60_000;
const INTERVAL_MS = 1000;
/** The broker keeps as many events. */
const AHEAD_MAX = 10_000;
/** The most events in Celery's own lists. */
const EVENTS_A_MESSAGE = 24;
const HONEST = { portions: 100, tasks: 1000, names: 195, workers: 10, portionMs: 200 } as const;
const SERIES = 10_000;
const HOSTILE_PORTION = 1000;
/** So many that all tables are full, which they are with 12,000 such tasks, and with 20,000 newcomers. */
const SENDING_PORTIONS = 98;
const NEWCOMER_PORTIONS = 21;
/** Events, alone and in lists, with texts in characters of two bytes. */
const LARGEST = [1, EVENTS_A_MESSAGE, 1, EVENTS_A_MESSAGE, 1, EVENTS_A_MESSAGE].map((count) => {
  const traceback = `é${'a'.repeat(BODY_LIMITS.body.max / count - 1_000)}`;
  return Buffer.from(
    JSON.stringify(Array.from({ length: count }, () => event('task-failed', { traceback }))),
  );
});
const PROCESSES = [1, 2, 3, 4, 5, 6];

let main: BuiltMain;
let rabbitmq: Vhosts;
let services = 0;

before(async () => {
  [main, rabbitmq] = await Promise.all([buildMain(), borrowRabbitmq()]);
});

after(async () => {
  main?.remove();
  await rabbitmq?.remove();
});

test('an honest cluster of 100,000 tasks and 10,000 series takes less than 200 MiB', {
  timeout: 180_000,
}, async (t) => {
  const bridge = await started(t);
  for (let portion = 0; portion < HONEST.portions; portion += 1) {
    const next = delay(HONEST.portionMs);
    await bridge.publish(honest(portion));
    await next;
  }
  await bridge.caughtUp();
  await delay(2 * INTERVAL_MS);
  t.diagnostic(`${bridge.series()} series`);
  assert.ok(bridge.series() >= SERIES, `${bridge.series()} series`);
  bound(t, 'memory of an honest cluster', bridge.peakMiB(), HONEST_MIB_MAX, 'MiB');
});

/** Publishes the portions one after the other, and checks the memory when all of them have been counted. */
async function publishAll(
  t: TestContext,
  bridge: Awaited<ReturnType<typeof started>>,
  portions: number,
  make: (portion: number) => readonly EventFields[],
  what: string,
): Promise<void> {
  for (let portion = 0; portion < portions; portion += 1) {
    await bridge.publish(make(portion));
    await bridge.caughtUp(AHEAD_MAX);
  }
  await bridge.caughtUp();
  await delay(2 * INTERVAL_MS);
  t.diagnostic(`${bridge.series()} series`);
  bound(t, `memory for ${what}`, bridge.peakMiB(), HOSTILE_MIB_MAX, 'MiB');
}

test('eight sendings of each task, all with the widest texts, take less than 512 MiB', {
  timeout: 400_000,
}, async (t) => {
  await publishAll(t, await started(t), SENDING_PORTIONS, sendings, 'the widest sendings');
});

test('the widest texts of ever new tasks and workers, of six processes each, take less than 512 MiB, and so do bodies of the largest size on top of them', {
  timeout: 400_000,
}, async (t) => {
  const bridge = await started(t);
  const portions = NEWCOMER_PORTIONS;
  await publishAll(t, bridge, portions, newcomers, 'the widest tasks and workers');
  for (let portion = portions; portion < portions + 10; portion += 1) {
    await bridge.publishBodies(LARGEST);
    await bridge.publish(newcomers(portion));
    await bridge.caughtUp();
  }
  bound(t, 'memory for the largest bodies on top of that', bridge.peakMiB(), HOSTILE_MIB_MAX, 'MiB');
});

async function started(t: TestContext) {
  services += 1;
  const brokerUrl = await rabbitmq.addVhost(`memory-${services}`);
  const totals = receivedTotals();
  const series = new Set<string>();
  const sink = await startReceiver({
    onExport({ points }) {
      totals.take(points);
      for (const { metric, attributes } of points) series.add(metric + JSON.stringify(attributes));
    },
  });
  t.after(() => sink.stop());
  const env = {
    CELERY_BROKER_URL: brokerUrl,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: `${INTERVAL_MS}`,
  };
  const bridge = startBridge(t, env, ['run'], [], main.path);
  await bridge.logged(/connected to/u);
  let published = 0;
  return {
    series: () => series.size,
    async publish(events: readonly EventFields[]) {
      published += events.length;
      await publishRaw(brokerUrl, inLists(events, EVENTS_A_MESSAGE));
    },
    publishBodies: (bodies: readonly Buffer[]) => publishRaw(brokerUrl, bodies.map(listOf)),
    async caughtUp(aheadMax = 0) {
      const endMs = performance.now() + CAUGHT_UP_MS;
      const counted = () => totals.of('celery-otel', 'celery_otel.events');
      while (counted() < published - aheadMax) {
        assert.ok(performance.now() < endMs, `${counted()} of ${published} events; ${bridge.log()}`);
        await delay(50);
      }
    },
    peakMiB() {
      const [, kib] = /VmHWM:\s+(\d+) kB/u.exec(readFileSync(`/proc/${bridge.pid}/status`, 'utf8')) ?? [];
      return Math.round(Number(kib) / 1024);
    },
  };
}

/** Complete runs, as Celery reports them. */
function honest(portion: number): readonly EventFields[] {
  return Array.from({ length: HONEST.tasks }, (_, index) => {
    const task = portion * HONEST.tasks + index;
    const uuid = crypto.randomUUID();
    const of = {
      uuid,
      hostname: `celery@worker-${Math.floor(task / HONEST.names) % HONEST.workers}.shop.internal`,
    };
    const named = {
      ...of,
      name: `shop.tasks.do_number_${task % HONEST.names}`,
      args: '(1, 2)',
      kwargs: '{}',
      root_id: uuid,
    };
    const begun = [
      event('task-sent', { ...named, queue: 'orders', routing_key: 'orders', hostname: 'gen1@pod' }),
      event('task-received', named),
    ];
    if (Math.floor(task / HONEST.names / HONEST.workers) % 10 === 9) {
      return [...begun, event('task-revoked', { ...of, terminated: false, signum: null, expired: true })];
    }
    const ended = event('task-succeeded', { ...of, runtime: 0.01 * (task % 17), result: 'None' });
    return [...begun, event('task-started', of), ended];
  }).flat();
}

/** As long as a name may be, where a character takes two bytes. */
function wide(text: string): string {
  return `${text} `.padEnd(255, '漢');
}

const ENDS: readonly EventFields[] = [
  { type: 'task-succeeded', runtime: 1.5 },
  { type: 'task-failed' },
  { type: 'task-retried' },
  { type: 'task-rejected', requeue: true },
  { type: 'task-rejected', requeue: false },
  { type: 'task-revoked', terminated: true, expired: false },
  { type: 'task-revoked', terminated: false, expired: true },
];

/** Each with another task, sender, queue and worker, of six processes; some clocks are fast, and some tasks never end. */
function newcomers(portion: number): readonly EventFields[] {
  return Array.from({ length: HOSTILE_PORTION }, (_, index) => {
    const one = portion * HOSTILE_PORTION + index;
    let clock = 20 * one;
    const nextClock = () => (clock += 1);
    const texts = { uuid: wide(`u${one}`), name: wide(`n${one}`), queue: wide(`q${one}`) };
    const hostname = wide(`w${one}`);
    const of = { uuid: texts.uuid, hostname, pid: 1 };
    const beat = (pid: number, processed: number) =>
      event('worker-heartbeat', {
        pid,
        hostname,
        processed,
        active: 1,
        clock: nextClock(),
        loadavg: [1, 2, 3],
        sw_ver: wide(`v${one}.${pid}.${processed}`),
        sw_sys: wide(`s${one}.${pid}.${processed}`),
      });
    const { type, ...end } = ENDS[one % (ENDS.length + 2)] ?? { type: undefined };
    const fast = one % 3 === 0 ? 5 : 0;
    return [
      event('task-sent', { ...texts, hostname: wide(`gen${one}@c`), timestamp: Date.now() / 1000 + fast }),
      ...PROCESSES.map((pid) => beat(pid, 0)),
      event('task-received', { ...texts, ...of, clock: nextClock() }),
      event('task-started', { ...of, clock: nextClock() }),
      ...(type === undefined ? [] : [event(type, { ...of, ...end, exception: `${wide(`E${one}`)}()` })]),
      beat(1, 50 + one),
    ];
  }).flat();
}

function sendings(portion: number): readonly EventFields[] {
  return Array.from({ length: HOSTILE_PORTION }, (_, index) => {
    const one = portion * HOSTILE_PORTION + index;
    const texts = { name: wide(`n${one}`), queue: wide(`q${one}`), hostname: wide(`gen${one}@c`) };
    return event('task-sent', { ...texts, uuid: wide(`u${one >> 3}`), retries: one % 8, clock: one });
  });
}
