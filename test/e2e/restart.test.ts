import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { BROKER_NAMES, startBroker } from '../real/brokers.ts';
import { until } from '../until.ts';
import { startBridge } from './bridge-process.ts';
import { event, publish } from './publish.ts';

describe('a restarted broker', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES) {
    test(`after ${name} restarts under load, it has reconnected, and no counter went down`, async (t) => {
      const broker = await startBroker(name);
      t.after(() => broker.remove());
      const decreases = decreasesIn();
      const sink = await startReceiver({ onExport: ({ points }) => decreases.take(points) });
      t.after(() => sink.stop());
      const bridge = startBridge(t, {
        CELERY_BROKER_URL: broker.url,
        OTEL_SERVICE_NAME: 'shop',
        OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
        OTEL_METRIC_EXPORT_INTERVAL: '200',
      });
      await bridge.logged(/connected to/u);
      const counted = (task: string, amount: number) =>
        sink.waitFor(
          'shop',
          (points) => total(points, 'celery.task.sent', { 'celery.task.name': task }) === amount,
          DEADLINE_MS,
        );
      await publish(broker.url, sent('before', 500));
      await counted('before', 500);

      const load = underLoad(t, broker.url);
      await load.flowing();
      await broker.stop();
      await broker.start();
      await bridge.logged(/(?:connected to[\s\S]*){2}/u);
      await publish(broker.url, sent('after the restart', 500));
      await counted('after the restart', 500);
      await load.stop();
      assert.ok(bridge.alive());
      assert.equal(total(sink.latest('shop'), 'celery.task.sent', { 'celery.task.name': 'before' }), 500);
      assert.deepEqual(decreases.found(), []);
    });
  }
});

/** Compares each cumulative series with its newest point before. */
function decreasesIn(): { take(points: readonly Point[]): void; found(): readonly string[] } {
  const newest = new Map<string, Point>();
  const found: string[] = [];
  return {
    take(points) {
      for (const point of points.filter(({ monotonic }) => monotonic)) {
        const key = `${point.resource['service.name']} ${point.metric} ${JSON.stringify(point.attributes)}`;
        const last = newest.get(key);
        newest.set(key, point);
        if (last !== undefined && (point.value < last.value || point.startMs !== last.startMs))
          found.push(`${point.metric} ${JSON.stringify(point.attributes)} fell to ${point.value}`);
      }
    },
    found: () => found,
  };
}

function sent(name: string, amount: number) {
  return Array.from({ length: amount }, () => event('task-sent', { name, queue: 'orders' }));
}

/** Publishes all the time, also during outages of the broker. */
function underLoad(t: TestContext, url: string): { flowing(): Promise<void>; stop(): Promise<void> } {
  const stopping = new AbortController();
  let portions = 0;
  const done = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await publish(url, sent('load', 50));
        portions += 1;
      } catch {
        // The broker is unavailable, as intended; the next portion tries again.
        await delay(50);
      }
    }
  })();
  const stop = (): Promise<void> => {
    stopping.abort();
    return done;
  };
  t.after(stop);
  return {
    stop,
    async flowing() {
      const target = portions + 5;
      await until(
        'five portions more',
        () => portions >= target,
        () => ({ portions, target }),
      );
    },
  };
}
