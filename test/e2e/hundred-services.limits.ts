/**
 * A hundred Celery services in one process, with their own exchanges on one broker: how fast they connect, that all are
 * exported every interval, how long that takes, and what an idle service costs.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'amqplib';
import { type Point, total } from '../../examples/demo/otlp-points.ts';
import { type ReceivedExport, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startBridge } from './bridge-process.ts';
import { event } from './publish.ts';
import { ownTime, turnReports } from './turn-reports.ts';

const SERVICES = Array.from({ length: 100 }, (_, index) => `service-${index}`);
const TASKS = 25;
/** Of each task: the counters and histograms of one run, and the age of its end. */
const SERIES = TASKS * 9;
const INTERVAL_MS = 4000;
/** The bridge’s own time: time of other processes is not counted. */
const START_MAX_MS = 5000;
const CYCLE_MAX_MS = 1000;
/** Of processor time. */
const TURN_MAX_MS = 50;
/** The first and the last may be cut off. */
const IDLE_CYCLES = 4;
/** The one that is exported in the middle of each cycle. */
const MIDDLE = SERVICES[SERVICES.length / 2];

interface Arrival {
  readonly service: string;
  readonly atMs: number;
  readonly points: readonly Point[];
}

test('a hundred services connect in seconds and are exported every interval, without a long turn', {
  timeout: 120_000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  let arrivals: Arrival[] = [];
  const sink = await startReceiver({
    onExport: ({ points }: ReceivedExport) => {
      const service = points[0]?.resource['service.name'] ?? '';
      arrivals.push({ service, atMs: Date.now(), points });
    },
  });
  t.after(() => sink.stop());
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-hundred-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'celery-otel.yaml');
  writeFileSync(file, configFile(rabbitmq.url, sink.url));

  const startedMs = performance.now();
  const reportTurns = import.meta.resolve('./report-turns.ts');
  const bridge = startBridge(t, {}, ['run', '--config', file], ['--import', reportTurns]);
  const connected = () => bridge.log().split('connected to').length - 1;
  while (connected() < SERVICES.length && performance.now() - startedMs < 60_000) await delay(10);
  assert.equal(connected(), SERVICES.length, bridge.log());
  const connectedMs = Date.now();
  await publishLives(rabbitmq.url);
  const seriesOf = (arrival: Arrival | undefined) => arrival?.points.filter(isOfTask).length;
  const newest = (service: string) => arrivals.findLast((arrival) => arrival.service === service);
  const endMs = performance.now() + 40_000;
  while (performance.now() < endMs && SERVICES.some((name) => seriesOf(newest(name)) !== SERIES))
    await delay(100);
  for (const name of SERVICES) assert.equal(seriesOf(newest(name)), SERIES, name);

  const reported = async (times: number) => {
    bridge.signal('SIGUSR2');
    await bridge.logged(new RegExp(`(?:"longestMs"[^\\n]*\\n[^]*){${times}}`, 'u'));
    return turnReports(bridge.log())[times - 1] ?? assert.fail('it tells nothing');
  };
  const before = await reported(1);
  arrivals = [];
  // Twice the time, since a busy machine is late.
  const idleEndMs = performance.now() + 2 * IDLE_CYCLES * INTERVAL_MS;
  while (middlesOf(arrivals).length < IDLE_CYCLES && performance.now() < idleEndMs) await delay(100);
  const self = arrivals.filter(({ service }) => service === 'celery-otel').flatMap(({ points }) => points);
  const during = await reported(2);
  const ownMs = ownTime([...before.own, ...during.own]);
  const startMs = ownMs(connectedMs);
  const cycles = cyclesOf(
    arrivals.filter(({ service }) => service !== 'celery-otel'),
    ownMs,
  );
  const value = (metric: string, attributes: Readonly<Record<string, string>> = {}) =>
    Array.from(Map.groupBy(self, ({ timeMs }) => timeMs).values(), (points) => points)
      .filter((points) => points.some((point) => point.metric === metric))
      .map((points) => total(points, metric, attributes))
      .slice(1);
  const cycleMs = Math.min(...cycles.map(({ lengthMs }) => lengthMs));
  const cpu = value('celery_otel.cpu.time');
  const cpuS = ((cpu.at(-1) ?? 0) - (cpu[0] ?? 0)) / ((cpu.length - 1) * (INTERVAL_MS / 1000));
  const rss = value('celery_otel.memory.usage', { 'celery_otel.memory.type': 'rss' }).at(-1) ?? 0;
  t.diagnostic(
    `start ${Math.round(startMs)} ms; cycle ${Math.round(cycleMs)} ms; longest turn ${Math.round(during.longestMs)} ms, ${Math.round(during.longestCollectingMs)} ms with a full garbage collection; ` +
      `an idle service: ${(cpuS * 10).toFixed(2)} ms CPU a second, ${Math.round(rss / 1024 / SERVICES.length)} KiB of all memory`,
  );
  bound(t, 'a hundred services are connected', startMs, START_MAX_MS, 'ms');
  assert.ok(cycles.length >= IDLE_CYCLES - 2, `${cycles.length} cycles`);
  for (const cycle of cycles) assert.equal(cycle.services, SERVICES.length, 'every service in every cycle');
  bound(t, 'exports of a hundred services', cycleMs, CYCLE_MAX_MS, 'ms');
  bound(t, 'longest turn of a hundred services', during.longestMs, TURN_MAX_MS, 'ms');
  bridge.signal('SIGTERM');
  assert.equal((await bridge.ended()).code, 0);
});

function isOfTask({ metric }: Point): boolean {
  return metric.startsWith('celery.task.') && metric !== 'celery.task.oldest_age';
}

function configFile(brokerUrl: string, endpoint: string): string {
  const services = SERVICES.map(
    (name) => `    ${name}: { broker_url: "${brokerUrl}", event_exchange: ${name}.celeryev }`,
  );
  return [
    'file_format: "1.0"',
    'celery:',
    '  services:',
    ...services,
    'meter_provider:',
    '  readers:',
    `    - periodic: { interval: ${INTERVAL_MS}, timeout: ${INTERVAL_MS}, exporter: { otlp_grpc: { endpoint: "${endpoint}" } } }`,
    '',
  ].join('\n');
}

/** One whole life of each task on each of the services. */
async function publishLives(url: string): Promise<void> {
  const connection = await connect(url);
  const channel = await connection.createConfirmChannel();
  for (const name of SERVICES) {
    const events = Array.from({ length: TASKS }, (_, task) => {
      const common = { uuid: `${name}-${task}`, hostname: 'celery@pod' };
      const named = { ...common, name: `shop.task_${task}`, queue: 'celery' };
      return [
        event('task-sent', named),
        event('task-received', named),
        event('task-started', common),
        event('task-succeeded', { ...common, runtime: 0.1, result: 'None' }),
      ];
    }).flat();
    const body = Buffer.from(JSON.stringify(events));
    channel.publish(`${name}.celeryev`, 'task.multi', body, { contentType: 'application/json' });
  }
  await channel.waitForConfirms();
  await connection.close();
}

function middlesOf(arrivals: readonly Arrival[]): readonly number[] {
  return arrivals.filter(({ service }) => service === MIDDLE).map(({ atMs }) => atMs);
}

/** An export belongs to the cycle whose middle is nearest: on a slow machine there is hardly a pause between two cycles. */
function cyclesOf(
  arrivals: readonly Arrival[],
  ownMs: (atMs: number) => number,
): readonly { services: number; lengthMs: number }[] {
  const middles = middlesOf(arrivals);
  const nearest = ({ atMs }: Arrival) =>
    middles.reduce((best, middle) => (Math.abs(middle - atMs) < Math.abs(best - atMs) ? middle : best), 0);
  const cycles = [...Map.groupBy(arrivals, nearest).values()];
  return cycles.slice(1, -1).map((cycle) => ({
    services: new Set(cycle.map(({ service }) => service)).size,
    lengthMs: ownMs(cycle.at(-1)?.atMs ?? 0) - ownMs(cycle[0]?.atMs ?? 0),
  }));
}
