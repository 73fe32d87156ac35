/** What polls of 200 workers cost: little processor time, and no export is late for them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { leastMs, watchSlowness } from '../processor-time.ts';
import { BROKER_NAMES, borrowBroker } from '../real/brokers.ts';
import { startBridge } from './bridge-process.ts';
import { exportTimes } from './export-times.ts';
import { ownMetric } from './own-metrics.ts';
import { startSimulatedWorkers } from './simulated-workers.ts';

const WORKERS = 200;
/** `stats` and `active_queues`. */
const REPLIES_PER_POLL = 2 * WORKERS;
const POLLS = 8;
const WARM_UP = 4;
/** Of a normal machine. It takes some 20 ms: twice as much twice is too much. */
const POLL_CPU_MS_MAX = 50;
/** Linux counts in hundredths of a second. */
const TICK_MS = 10;
/** Of answers, to find whether exports wait for them. */
const SLOW_MS = 3000;
const SOON_MS = 60_000;

/** User and system time of a process so far. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** A bridge that asks the workers for this and has begun; one without commands only listens. */
async function startAsking(t: TestContext, url: string, commands: string) {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: url,
    CELERY_OTEL_COLLECTION_INTERVAL: '0.5',
    CELERY_OTEL_INITIAL_DELAY: '0.1',
    CELERY_OTEL_CONTROL_COMMANDS: commands,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '2000',
  });
  const answers = { 'celery_otel.reply.outcome': 'answer' };
  const polls = (): number =>
    ownMetric(sink.latest('celery-otel'), 'shop', 'control.replies', answers) / REPLIES_PER_POLL;
  await sink.waitFor(
    'shop',
    (points) => points.filter(({ metric }) => metric === 'celery.worker.up').length === WORKERS,
    SOON_MS,
  );
  return { bridge, sink, polls };
}

describe('the cost of polls', { concurrency: 1 }, () => {
  for (const name of BROKER_NAMES) {
    test(`${WORKERS} workers on ${name}: less than ${POLL_CPU_MS_MAX} ms of processor time a poll`, {
      timeout: 180_000,
    }, async (t) => {
      const broker = await borrowBroker(name);
      const workers = await startSimulatedWorkers(broker.url, WORKERS);
      t.after(async () => {
        await workers.stop();
        await broker.remove();
      });
      const [asking, listening] = await Promise.all(
        ['stats,active_queues', 'none'].map((commands) => startAsking(t, broker.url, commands)),
      );
      assert.ok(asking !== undefined && listening !== undefined);
      const { polls } = asking;
      await asking.sink.waitFor('celery-otel', () => polls() >= WARM_UP, SOON_MS);
      // Both live through the same, but for the polls.
      const extraMs = (): number => cpuMs(asking.bridge.pid) - cpuMs(listening.bridge.pid);
      const slownessSince = watchSlowness();
      const pollMs = await leastMs(POLL_CPU_MS_MAX, async () => {
        slownessSince();
        const [from, fromMs] = [polls(), extraMs()];
        while (polls() < from + POLLS) await delay(50);
        const ms = (extraMs() - fromMs) / (polls() - from);
        const slower = slownessSince();
        t.diagnostic(
          `${ms.toFixed(1)} ms a poll, ${(ms / slower).toFixed(1)} ms on a normal machine: this one takes ${slower.toFixed(1)} times as long`,
        );
        return ms / slower;
      });
      assert.equal(listening.polls(), 0);
      bound(t, `a poll of ${WORKERS} workers on ${name}`, pollMs, POLL_CPU_MS_MAX, 'ms');
      for (const { bridge } of [asking, listening]) {
        assert.doesNotMatch(bridge.log(), /longer than the interval/u, 'no export is late');
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 0);
      }
    });
  }
});

describe('slow answers', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES) {
    for (const [when, delayMs] of [
      ['just before the time-out', SLOW_MS],
      ['never', 10 * SLOW_MS],
    ] as const) {
      test(`exports go on at their interval while workers on ${name} reply ${when}`, {
        timeout: 60_000,
      }, async (t) => {
        const broker = await borrowBroker(name);
        const workers = await startSimulatedWorkers(broker.url, 2, delayMs);
        t.after(async () => {
          await workers.stop();
          await broker.remove();
        });
        const [times, arrived] = [exportTimes(), Promise.withResolvers<void>()];
        const sink = await startReceiver({
          onExport({ points }) {
            times.take(points);
            if (times.count('shop') > 0) arrived.resolve();
          },
        });
        t.after(() => sink.stop());
        const bridge = startBridge(t, {
          CELERY_BROKER_URL: broker.url,
          CELERY_OTEL_COLLECTION_INTERVAL: '0.1',
          CELERY_OTEL_INITIAL_DELAY: '0.1',
          CELERY_OTEL_TIMEOUT: String((SLOW_MS + 500) / 1000),
          OTEL_SERVICE_NAME: 'shop',
          OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
          OTEL_METRIC_EXPORT_INTERVAL: '250',
        });
        await arrived.promise;
        const fromMs = Date.now();
        const asked = () => ownMetric(sink.latest('celery-otel'), 'shop', 'control.requests');
        // One question ends after the other, so workers are asked all the time.
        await sink.waitFor('celery-otel', () => asked() >= 2, SOON_MS);
        const toMs = Date.now();
        assert.ok(toMs - fromMs > SLOW_MS, 'the answers were slow');
        const gapMs = times.longestGapWithin('shop', fromMs, toMs, (atMs) => atMs);
        bound(t, `between two exports while workers on ${name} reply ${when}`, gapMs, SLOW_MS / 2, 'ms');
        const answers = ownMetric(sink.latest('celery-otel'), 'shop', 'control.replies', {
          'celery_otel.reply.outcome': 'answer',
        });
        assert.equal(answers > 0, delayMs === SLOW_MS);
        bridge.signal('SIGTERM');
        assert.equal((await bridge.ended()).code, 0);
      });
    }
  }
});
