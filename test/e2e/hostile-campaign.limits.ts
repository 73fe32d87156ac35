/**
 * Hostile messages of all kinds against a bridge with a heap of 256 MB, while real tasks run: it survives, every real
 * event is counted under its own name, every hostile one as what it is, and no export is late.
 * CAMPAIGN_MESSAGES=1000000 makes it twenty times as long.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type ConfirmChannel, connect } from 'amqplib';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { CAMPAIGN_KINDS, campaignMessage, countedAs, eventOf, listOf } from './campaign-messages.ts';
import { exportTimes } from './export-times.ts';
import type { EventFields, RawPublish } from './publish.ts';
import { type RawPublisher, rawPublisher } from './raw-publisher.ts';
import { receivedTotals } from './received-totals.ts';
import { seeded } from './seeded.ts';
import { ownTime, turnReports } from './turn-reports.ts';

const SEED = 20_261_122;
const MESSAGES = Number(process.env['CAMPAIGN_MESSAGES'] ?? 50_000);
const MESSAGES_A_SECOND = 2500;
const TASKS = 10_000;
const NAMES = ['shop.pay', 'shop.ship', 'shop.mail'];
const HONEST = { hostname: 'honest@pod', pid: 1, queue: 'orders' };
const INTERVAL_MS = 1000;
const LATE_MS_MAX = 3000;
const TURN_MS_MAX = 50;
const TICK_MS = 100;
/** Published and not yet counted; below the limit of the queue. */
const AHEAD_MAX = 20_000;
const CAUGHT_UP_MS = 30_000;

/** How often each count is expected. */
type Expected = Map<string, number>;

test(`among ${MESSAGES} hostile messages, real tasks are counted, each message is counted, and no export is late`, {
  timeout: 100_000 + (MESSAGES / MESSAGES_A_SECOND) * 4000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const times = exportTimes();
  const totals = receivedTotals();
  const sink = await startReceiver({
    onExport({ points }) {
      totals.take(points);
      times.take(points.filter(({ metric }) => metric === 'celery.task.succeeded'));
    },
  });
  t.after(() => sink.stop());
  const env = {
    CELERY_BROKER_URL: rabbitmq.url,
    CELERY_OTEL_EVENT_QUEUE_BYTES_MAX: String(1024 * 1024 * 1024),
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: String(INTERVAL_MS),
  };
  const reportTurns = import.meta.resolve('./report-turns.ts');
  const bridge = startBridge(t, env, ['run'], ['--max-old-space-size=256', '--import', reportTurns]);
  await bridge.logged(/connected to/u);
  const own = () => sink.latest('celery-otel');
  const counted = () => total(own(), 'celery_otel.input.dropped') + total(own(), 'celery_otel.events');
  const honest = () => NAMES.map((name) => [name, ...countsOf(sink.latest('shop'), name)]);
  const expected: Expected = new Map();
  const campaign = await campaignOn(rabbitmq.url, expected);

  // The real series exist before; and first-time work is not measured.
  campaign.tasks(NAMES.length);
  for (let round = 0; round < 20; round += 1) {
    for (const kind of CAMPAIGN_KINDS) campaign.hostile(kind);
    await delay(TICK_MS);
    campaign.tasks(0);
  }
  const isCounted = () => [...expected].every(([key, count]) => countOf(key) >= count);
  await within(CAUGHT_UP_MS, isCounted);
  bridge.signal('SIGUSR2');
  await bridge.logged(/"longestMs"[^\n]*\n/u);

  const fromMs = Date.now();
  let tasks = NAMES.length;
  for (let messages = 0; messages < MESSAGES; ) {
    const next = delay(TICK_MS);
    const portion = Math.min((MESSAGES_A_SECOND * TICK_MS) / 1000, MESSAGES - messages);
    for (let each = 0; each < portion; each += 1) campaign.hostile();
    messages += portion;
    // At the start of a long one, enough of the earlier ones remain.
    const due = Math.max(tasks, Math.floor((TASKS * messages) / MESSAGES));
    campaign.tasks(due - tasks);
    tasks = due;
    await Promise.all([next, campaign.confirmed()]);
    while (bridge.alive() && sumOf(expected) - counted() > AHEAD_MAX) await delay(TICK_MS);
    assert.ok(bridge.alive(), bridge.log().slice(-3000));
  }
  const toMs = Date.now();
  // Those that have not ended yet.
  campaign.tasks(0);
  campaign.tasks(0);
  await campaign.confirmed();
  await campaign.close();
  const lives = NAMES.map((name, at) => [name, ...Array(4).fill(Math.ceil((TASKS - at) / NAMES.length))]);
  await within(CAUGHT_UP_MS, () => isCounted() && isDeepStrictEqual(honest(), lives));
  // A double count would show by now.
  await delay(2 * INTERVAL_MS);
  assert.ok(bridge.alive(), bridge.log().slice(-3000));
  bridge.signal('SIGUSR2');
  await bridge.logged(/(?:"longestMs"[^\n]*\n[\s\S]*){2}/u);

  const [before, during] = turnReports(bridge.log());
  assert.ok(before !== undefined && during !== undefined);
  const gapMs = times.longestGapWithin('shop', fromMs, toMs, ownTime([...before.own, ...during.own]));
  t.diagnostic(
    `${Math.round((toMs - fromMs) / 1000)} s; between two exports at most ${Math.round(gapMs)} ms of the bridge’s own`,
  );
  t.diagnostic(
    `the longest turn: ${Math.round(during.longestMs)} ms, and ${Math.round(during.longestCollectingMs)} ms with a full garbage collection`,
  );
  t.diagnostic(
    `MB: ${['rss', 'heap_used', 'external'].map((type) => `${type} ${Math.round(total(own(), 'celery_otel.memory.usage', { 'celery_otel.memory.type': type }) / 1e6)}`).join(', ')}`,
  );
  const all = Object.fromEntries([...expected].sort().map(([key]) => [key, countOf(key)]));
  assert.deepEqual(all, Object.fromEntries([...expected].sort()));
  assert.equal(counted(), sumOf(expected), 'nothing was counted as something else');
  assert.deepEqual(honest(), lives);
  bound(t, 'between two exports among hostile messages', gapMs, INTERVAL_MS + LATE_MS_MAX, 'ms');
  bound(t, 'longest turn among hostile messages', during.longestMs, TURN_MS_MAX, 'ms');

  function countOf(key: string): number {
    const [what = '', which = ''] = key.split(' ');
    switch (what) {
      case 'dropped':
        return total(own(), 'celery_otel.input.dropped', { 'celery_otel.drop.reason': which });
      case 'implausible':
        return total(own(), 'celery_otel.fields.implausible', { 'celery_otel.event.field': which });
      case 'events':
        return total(own(), 'celery_otel.events', { 'celery_otel.event.type': which });
      default:
        return totals.of('shop', what);
    }
  }
});

/** The counts made once for each message or event in it. */
function sumOf(expected: Expected): number {
  return [...expected].reduce(
    (sum, [key, count]) => sum + (/^(?:dropped|events) /u.test(key) ? count : 0),
    0,
  );
}

/** Waits until the condition holds or the time is up. */
async function within(timeoutMs: number, isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!isSo() && performance.now() < endMs) await delay(TICK_MS);
}

/** The number of sent, received, started and ended tasks of that name. */
function countsOf(points: Parameters<typeof total>[0], name: string): readonly number[] {
  return ['sent', 'received', 'started', 'succeeded'].map((what) =>
    total(points, `celery.task.${what}`, { 'celery.task.name': name }),
  );
}

async function campaignOn(url: string, expected: Expected) {
  const random = seeded(SEED);
  const model = await connect(url);
  // If the test fails, the broker stops first.
  model.on('error', () => undefined);
  const channel: ConfirmChannel = await model.createConfirmChannel();
  const raw: RawPublisher = await rawPublisher(url);
  let index = 0;
  let task = 0;
  let clock = 0;
  /** The events of the next portions: a task is received, and ends two ticks later. */
  const ahead: EventFields[][] = [[], []];

  function expect(keys: readonly string[]): void {
    for (const key of keys) expected.set(key, (expected.get(key) ?? 0) + 1);
  }

  function publish({ routingKey, body, ...options }: RawPublish): void {
    channel.publish('celeryev', routingKey, body, { ...options, deliveryMode: 1 });
  }

  return {
    hostile(only?: string): void {
      index += 1;
      const { message, counted } = campaignMessage({ random, index, nowS: Date.now() / 1000 }, only);
      expect(counted);
      if ('headerBytes' in message) raw.publish(message.headerBytes, message.event);
      else publish(message);
    },
    /** This many more tasks are sent and received, and earlier ones continue. */
    tasks(count: number): void {
      const nowS = Date.now() / 1000;
      const [begun = [], ended = []] = ahead;
      const sent: EventFields[] = [];
      const received: EventFields[] = [];
      const next: EventFields[] = [];
      for (let each = 0; each < count; each += 1) {
        const of = { ...HONEST, uuid: `honest-${task}`, name: NAMES[task % NAMES.length] };
        task += 1;
        clock += 1;
        sent.push(eventOf('task-sent', { index: clock, nowS }, { ...of, hostname: 'gen1@pod' }));
        received.push(eventOf('task-received', { index: clock, nowS }, of));
        next.push(eventOf('task-started', { index: clock, nowS }, of));
      }
      const now = { clock, timestamp: nowS };
      const after = begun.map((each) => ({ ...each, type: 'task-succeeded', runtime: 0.1 }));
      const events = [
        ...begun.map((each) => ({ ...each, ...now })),
        ...ended.map((each) => ({ ...each, ...now })),
      ];
      ahead[0] = next;
      ahead[1] = after;
      for (const each of sent) publish(listOf([each]));
      const reported = [...received, ...events];
      for (let from = 0; from < reported.length; from += 24) publish(listOf(reported.slice(from, from + 24)));
      expect([...sent, ...reported].flatMap(({ type }) => countedAs(type)));
    },
    confirmed: () => channel.waitForConfirms(),
    close: () => Promise.all([raw.close(), model.close()]),
  };
}
