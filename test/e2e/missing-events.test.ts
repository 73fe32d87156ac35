/**
 * Common mistakes of new users, with real brokers and real workers: no events, or no task events. The log says so, and so do the status,
 * `top` and the page.
 */
import assert from 'node:assert/strict';
import { after, describe, type TestContext, test } from 'node:test';
import { createNoopMeter } from '@opentelemetry/api';
import { startPeriodicChecks } from '../../src/bridge/periodic-checks.ts';
import { runStatus } from '../../src/cli/run-status.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { openService } from '../../src/service/service.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { Log } from '../broker/log.ts';
import { BROKER_NAMES, type BrokerName } from '../real/brokers.ts';
import { celeryFlavours, runPython, SHOP_FOLDER, startWorker } from '../real/celery.ts';
import { until } from '../until.ts';
import { event, publish } from './publish.ts';
import { shopClusters } from './shop.ts';
import { lookEverywhere, statusOf } from './shown-everywhere.ts';

const clusterOf = shopClusters();
const { showsEverywhere } = lookEverywhere({ after });
const flavour = celeryFlavours().reduce((_, newest) => newest);
/** What is told of a start with an exchange that nobody else uses. */
const AT_START: Readonly<Record<BrokerName, readonly SelfEvent['kind'][]>> = {
  RabbitMQ: ['service-started', 'exchange-made', 'broker-connected'],
  // An exchange is part of the names of channels, which exist without being made.
  Redis: ['service-started', 'broker-connected'],
};

const STATUS = { address: { host: '127.0.0.1', port: 0 }, readiness: 'any', runsMax: 0 } as const;

/** A service that reports missing events after this many ms instead of a minute. */
async function listening(t: TestContext, url: string, eventExchange: string, quietMs: number) {
  const env = { CELERY_BROKER_URL: url, OTEL_SERVICE_NAME: 'shop', CELERY_EVENT_EXCHANGE: eventExchange };
  const loaded = loadConfig({ argv: [], env });
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const reported = new Log<SelfEvent>();
  const status = runStatus(STATUS, loaded.config);
  const report = (each: SelfEvent): void => {
    reported.add(each);
    status.note(each);
  };
  const [config] = loaded.config.services;
  const service = openService({
    ...config,
    polling: config,
    metrics: { meter: createNoopMeter(), choice: config.choice, retire: () => {}, countEvent: () => {} },
    report,
    random: () => 0,
    yieldToLoop: createYieldToLoop(),
    activity: true,
    quietMs,
  });
  t.after(() => service.stop());
  t.after(startPeriodicChecks({ services: [service], self: 'celery-otel', report, everyMs: quietMs / 10 }));
  assert.equal(await service.ready, true);
  const found = (kind: SelfEvent['kind']) => reported.find((each) => each.kind === kind);
  const served = await status.open({
    state: () => [service.state()],
    async activity() {
      const activity = await service.activity();
      return activity && { ...activity, series: undefined };
    },
    lookup: () => undefined,
  });
  t.after(() => served.close());
  return { reported, found, url: served.url };
}

const SEND = 'sent = lambda name, queue, *args: app.send_task(f"shop.{name}", args, queue=queue)';
const PRICES = (queue: string) => `for _ in range(5): sent("price_item", "${queue}", "cup")`;

describe('missing events', { concurrency: BROKER_NAMES.length }, () => {
  for (const name of BROKER_NAMES)
    describe(name, { concurrency: 3 }, () => {
      test('with a wrong event_exchange, the log says whether it was declared, that no events arrive, and that this is over', async (t) => {
        const { broker } = await clusterOf(flavour, name);
        const { reported, found } = await listening(t, broker, 'celeryevents', 1000);
        assert.deepEqual(
          reported.items.slice(0, AT_START[name].length).map(({ kind }) => kind),
          AT_START[name],
        );
        const silent = await found('events-missing');
        assert.ok(
          silent.kind === 'events-missing' && silent.exchange === 'celeryevents' && silent.forMs >= 1000,
        );
        await publish(broker, [event('worker-heartbeat')], 'celeryevents');
        const over = await found('events-resumed');
        assert.ok(over.kind === 'events-resumed' && over.afterMs >= silent.forMs);
      });

      test('undecodable messages are not reported as silence', async (t) => {
        const { broker } = await clusterOf(flavour, name);
        const { found } = await listening(t, broker, 'unreadable', 10_000);
        await publish(broker, [event('shop-tick')], 'unreadable');
        const silent = await found('events-missing');
        assert.ok(silent.kind === 'events-missing' && silent.unread === 1);
      });

      test('workers without task events are named in the log, those with them are not, and the end is logged', async (t) => {
        const cluster = await clusterOf(flavour, name);
        const { reported, found, url } = await listening(t, cluster.broker, 'celeryev', 3000);
        const application = {
          ...cluster,
          folder: import.meta.dirname,
          app: 'shop_without_events',
          env: { PYTHONPATH: SHOP_FOLDER },
        };
        const workers = await Promise.all([
          startWorker({ ...application, nodename: 'quiet@shop', queues: ['orders'], taskEvents: false }),
          startWorker({ ...application, nodename: 'telling@shop', queues: ['emails'] }),
          startWorker({ ...application, nodename: 'alone@shop', queues: ['reports'], pool: 'solo' }),
        ]);
        t.after(() => Promise.all(workers.map((worker) => worker.kill())));
        const script = async (...lines: readonly string[]) =>
          runPython(
            flavour,
            '-c',
            [['from shop_without_events import app', SEND, ...lines, 'print("null")'].join('\n')],
            cluster,
            application,
          );

        // Longer than the time until missing events are reported, which a single blocked thread cannot send.
        const long = script(
          'tasks = [sent("check_stock", queue, "cup", 6) for queue in ("emails", "reports") for _ in range(2)]',
          'for task in tasks: task.get(timeout=60)',
        );
        await script(PRICES('orders'), PRICES('emails'));
        const { kind: _, service: __, ...missing } = await found('task-events-missing');
        assert.deepEqual(missing, { workers: ['quiet@shop'], more: 0 });
        const { problems } = await showsEverywhere(url, 'task-events-off');
        const off = problems.find(({ code }) => code === 'task-events-off');
        assert.equal(off?.line, 'quiet@shop ran tasks and sent no task events');
        await long;
        assert.ok(!reported.items.some(({ kind }) => kind === 'task-events-resumed'));
        await script('app.control.enable_events()', PRICES('orders'));
        await found('task-events-resumed');
        await until('the status has it no longer', async () => {
          const left = (await statusOf(url)).problems;
          return !left.some(({ code }) => code === 'task-events-off');
        });
        assert.equal(reported.items.filter(({ kind }) => kind === 'task-events-missing').length, 1);
      });
    });
});
