/**
 * Six services of one bridge: three share a broker in different ways, and three have brokers that fail in different
 * ways. A failure is logged and counted under its own name, and the others are exported as if they were alone.
 */
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { freePort } from '../real/free-port.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../real/lent-rabbitmq.ts';
import { type BridgeProcess, startBridge } from './bridge-process.ts';
import { countedTasks } from './counted.ts';
import { exportTimes } from './export-times.ts';
import { ownMetric } from './own-metrics.ts';
import { event, publish } from './publish.ts';
import { serviceFile } from './service-file.ts';
import { countsOf, lives, WORKER } from './task-lives.ts';
import { ownTime, turnReports } from './turn-reports.ts';

const INTERVAL_MS = 1000;
/** With characters that a URL has to encode. */
const PASSWORD = 'pa55:w@rd';
/** For short waits, on a busy machine. */
const SOON_MS = 15_000;

/** What each lives through in how many rounds, and the rest of its resource. */
const HEALTHY = {
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
type Healthy = keyof typeof HEALTHY;
const NAMES = ['shop', 'billing', 'mail'] as const satisfies readonly Healthy[];

/** How each attempt at the broker of the others ends. */
const FAILING = { gone: 'unreachable', silent: 'unreachable', wrong: 'refused' } as const;

test('three services count exactly on a shared broker while three others have no broker, and one loses its own', {
  timeout: 120_000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const urls = { shop: rabbitmq.url, billing: await rabbitmq.addVhost('billing'), mail: rabbitmq.url };
  const seen = sightings();
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
    sink.waitFor('celery-otel', condition, SOON_MS);
  await untilTold((points) => NAMES.every((name) => ownMetric(points, name, 'broker.connected') === 1));

  const live = async (names: readonly Healthy[], round: number): Promise<void> => {
    for (const name of names) {
      const { task, exchange, lives: each } = HEALTHY[name];
      const events = lives(task, round * each, (round + 1) * each);
      await publish(urls[name], [event('worker-online', { hostname: WORKER }), ...events], exchange);
    }
    for (const name of names) {
      const lived = HEALTHY[name].lives * (round + 1);
      await sink.waitFor(name, (points) => total(points, 'celery.task.succeeded') >= lived, SOON_MS);
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
  assertCounted(sink);
  assert.deepEqual(
    seen.tasks(),
    { shop: ['shop.pay'], billing: ['billing.invoice'], mail: ['mail.send'] },
    'at no time was anything counted elsewhere',
  );
  assertResources(sink);
  assertOwnMetrics(own);
  assertLog(bridge);
  const toMs = Date.now();
  bridge.signal('SIGUSR2');
  await bridge.logged(/"longestMs"[^\n]*\n/u);
  const [told] = turnReports(bridge.log());
  assert.ok(told !== undefined);
  for (const name of [...NAMES, 'celery-otel']) {
    const gapMs = seen.times.longestGapWithin(name, fromMs, toMs, ownTime(told.own));
    assert.ok(gapMs < 3 * INTERVAL_MS, `${name}: ${gapMs} ms between two exports`);
  }
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
  assert.doesNotMatch(`${bridge.log()}${seen.text()}`, /pa55/u, 'the password is nowhere');
});

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
function sightings() {
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

/** Its own tasks are all there is. */
function assertCounted(sink: Receiver): void {
  for (const name of NAMES) {
    const { task, lives: each, rounds } = HEALTHY[name];
    const points = sink.latest(name);
    assert.deepEqual(countedTasks(points), { [task]: countsOf(each * rounds) }, name);
    assert.equal(total(points, 'celery.worker.up', { 'celery.worker.name': WORKER }), 1, name);
  }
  for (const name of Object.keys(FAILING)) assert.deepEqual(sink.latest(name), [], name);
}

/** Each has the attributes of its own, and none of the others'. */
function assertResources(sink: Receiver): void {
  const extra = new Set(NAMES.flatMap((name) => Object.keys(HEALTHY[name].resource)));
  for (const name of NAMES) {
    for (const { resource } of sink.latest(name)) {
      const own = Object.entries(resource).filter(([key]) => extra.has(key));
      assert.deepEqual(Object.fromEntries(own), HEALTHY[name].resource, name);
    }
  }
}

function assertOwnMetrics(points: readonly Point[]): void {
  const connected = points
    .filter(({ metric }) => metric === 'celery_otel.broker.connected')
    .map(({ attributes, value }) => [attributes['celery_otel.service'], value]);
  assert.deepEqual(Object.fromEntries(connected), {
    ...{ shop: 1, billing: 0, mail: 1 },
    ...{ gone: 0, silent: 0, wrong: 0 },
  });
  for (const name of ['shop', 'mail'])
    assert.equal(sessions(points, name), 0, `${name} never lost its broker`);
  for (const [name, end] of Object.entries(FAILING))
    assert.equal(sessions(points, name), sessions(points, name, end), `${name}: ${end} each time`);
  assert.equal(sessions(points, 'billing', 'lost'), 1);
  assert.equal(total(points, 'celery_otel.broker.connections'), 3, 'those that have a broker, once each');
  for (const name of NAMES) assert.equal(ownMetric(points, name, 'events'), eventsOf(name), name);
}

/** A repeated failure is logged once. */
function assertLog(bridge: BridgeProcess): void {
  const lines = bridge.log().trimEnd().split('\n').map(parseLine);
  const told = (service: string) =>
    lines.filter(({ kind, service: of }) => kind === 'broker-session-ended' && of === service);
  const reasons = { wrong: /ACCESS.REFUSED/u, gone: /ECONNREFUSED/u, silent: /no answer within 1000 ms/u };
  for (const [name, reason] of Object.entries(reasons)) {
    const [line, ...others] = told(name);
    assert.match(line?.msg ?? '', reason);
    assert.equal(line?.level, 'warn');
    assert.deepEqual(others, [], `${name} is told of once a minute`);
  }
  for (const name of ['shop', 'mail']) assert.deepEqual(told(name), []);
  assert.deepEqual(
    told('billing').map(({ msg }) => /may the user use it\?|deleted/u.exec(msg)?.[0]),
    ['deleted', 'may the user use it?'],
  );
}

function parseLine(text: string): Readonly<Record<'kind' | 'service' | 'level' | 'msg', string>> {
  const line: unknown = JSON.parse(text);
  const field = (key: string) =>
    typeof line === 'object' && line !== null ? String(Reflect.get(line, key)) : '';
  return { kind: field('kind'), service: field('service'), level: field('level'), msg: field('msg') };
}

/** A run has four events, and the worker comes online in each round. */
function eventsOf(name: Healthy): number {
  const { lives: each, rounds } = HEALTHY[name];
  return rounds * (4 * each + 1);
}

/** That ended in this way, or in any. */
function sessions(points: readonly Point[], service: string, end?: string): number {
  return ownMetric(
    points,
    service,
    'broker.sessions',
    end === undefined ? {} : { 'celery_otel.session.end': end },
  );
}
