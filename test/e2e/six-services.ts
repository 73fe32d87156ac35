/** Six services of one bridge: three share a broker in different ways, and three have brokers that fail in different ways. */
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { freePort } from '../real/free-port.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { exportTimes } from './export-times.ts';
import { ownMetric } from './own-metrics.ts';
import { event, publish } from './publish.ts';
import { serviceFile } from './service-file.ts';
import { lives, WORKER } from './task-lives.ts';

export const INTERVAL_MS = 1000;
/** With characters that a URL has to encode. */
const PASSWORD = 'pa55:w@rd';

/** What each lives through in how many rounds, and the rest of its resource. */
export const HEALTHY = {
  shop: {
    task: 'shop.pay',
    exchange: 'celeryev',
    lives: 30,
    rounds: 3,
    resource: { 'service.namespace': 'sales', 'team.name': 'storefront' },
  },
  billing: {
    task: 'billing.invoice',
    exchange: 'celeryev',
    lives: 20,
    rounds: 2,
    resource: { 'service.namespace': 'money', 'team.room': '12' },
  },
  mail: {
    task: 'mail.send',
    exchange: 'mail.celeryev',
    lives: 10,
    rounds: 3,
    resource: { 'team.name': 'post office' },
  },
} as const;
export type Healthy = keyof typeof HEALTHY;
export const NAMES = ['shop', 'billing', 'mail'] as const satisfies readonly Healthy[];

/** How each attempt at the broker of the others ends. */
export const FAILING = { gone: 'unreachable', silent: 'unreachable', wrong: 'refused' } as const;

/** They live, one loses its own broker, and the others go on. Resolves when all is exported. */
export async function sixServices(t: TestContext) {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const urls = { shop: rabbitmq.url, billing: await rabbitmq.addVhost('billing'), mail: rabbitmq.url };
  const seen = evidence();
  const sink = await startReceiver({ onExport: ({ points }) => seen.take(points) });
  t.after(() => sink.stop());
  const services = await servicesOn(t, rabbitmq, urls);
  const file = serviceFile(t, {
    services,
    common: { reordering_window: 0.2 },
    endpoint: sink.url,
    intervalMs: INTERVAL_MS,
  });
  const reportTurns = import.meta.resolve('./report-turns.ts');
  const bridge = startBridge(t, {}, ['run', '--config', file], ['--import', reportTurns]);
  const untilTold = (condition: (points: readonly Point[]) => boolean) =>
    sink.waitFor('celery-otel', condition, DEADLINE_MS);
  await untilTold((points) => NAMES.every((name) => ownMetric(points, name, 'broker.connected') === 1));

  const live = async (names: readonly Healthy[], round: number): Promise<void> => {
    for (const name of names) {
      const { task, exchange, lives: each } = HEALTHY[name];
      const events = lives(task, round * each, (round + 1) * each);
      await publish(urls[name], [event('worker-online', { hostname: WORKER }), ...events], exchange);
    }
    for (const name of names) {
      const lived = HEALTHY[name].lives * (round + 1);
      await sink.waitFor(name, (points) => total(points, 'celery.task.succeeded') >= lived, DEADLINE_MS);
    }
  };
  const fromMs = Date.now();
  await live(NAMES, 0);
  await untilTold((points) => Object.keys(FAILING).every((name) => sessions(points, name) >= 2));
  await live(NAMES, 1);
  // It had a broker, and is refused from now on.
  await rabbitmq.ctl('delete_vhost', vhostOf(urls.billing));
  await untilTold((points) => sessions(points, 'billing', 'refused') >= 1);
  await live(['shop', 'mail'], 2);

  const own = await untilTold((points) =>
    NAMES.every((name) => ownMetric(points, name, 'events') >= eventsOf(name)),
  );
  return { bridge, sink, seen, own, fromMs, toMs: Date.now() };
}

async function servicesOn(
  t: TestContext,
  rabbitmq: Vhosts,
  urls: Readonly<Record<Healthy, string>>,
): Promise<Readonly<Record<string, Readonly<Record<string, unknown>>>>> {
  const withPassword = (port: number) => `amqp://guest:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}//`;
  const mailOwn = { event_exchange: HEALTHY.mail.exchange, event_queue_prefix: 'mail.celeryev' };
  return {
    // The failing ones come first, so that waiting for them would show.
    gone: { broker_url: withPassword(await freePort()) },
    silent: { broker_url: withPassword(await silentPort(t)), broker_connection_timeout: 1 },
    wrong: { broker_url: withPassword(rabbitmq.port) },
    shop: { broker_url: urls.shop, resource: HEALTHY.shop.resource },
    billing: { broker_url: urls.billing, resource: HEALTHY.billing.resource },
    mail: { broker_url: urls.mail, ...mailOwn, resource: HEALTHY.mail.resource },
  };
}

/** Of a server that accepts and never answers. */
async function silentPort(t: TestContext): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined).resume());
  });
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const port = await freePort();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return port;
}

/** What was exported at any time. */
function evidence() {
  const times = exportTimes();
  const tasks = new Map<string, Set<string>>();
  const texts = new Set<string>();
  return {
    times,
    take(points: readonly Point[]): void {
      times.take(points);
      for (const { resource, metric, attributes } of points) {
        texts.add(JSON.stringify([resource, metric, attributes]));
        const task = attributes['celery.task.name'];
        if (task === undefined) continue;
        const service = resource['service.name'] ?? '';
        tasks.set(service, (tasks.get(service) ?? new Set()).add(task));
      }
    },
    /** Service → names of its tasks. */
    tasks: () => Object.fromEntries([...tasks].map(([service, names]) => [service, [...names]])),
    /** All texts in all points. */
    text: () => [...texts].join('\n'),
  };
}

/** A run has four events, and the worker comes online in each round. */
export function eventsOf(name: Healthy): number {
  const { lives: each, rounds } = HEALTHY[name];
  return rounds * (4 * each + 1);
}

/** That ended in this way, or in any. */
export function sessions(points: readonly Point[], service: string, end?: string): number {
  return ownMetric(
    points,
    service,
    'broker.sessions',
    end === undefined ? {} : { 'celery_otel.session.end': end },
  );
}
