/**
 * Measures CPU per event of the whole `celery-otel run` process against a bare consumer that only parses JSON: both
 * read the same messages from the same RabbitMQ at the same time, so the ratio is comparable across machines. Exits
 * with 1 if a ratio exceeds its limit.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connect } from 'amqplib';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { startRabbitmq } from '../real/rabbitmq.ts';
import { bodies, EVENTS_PER_TASK } from './lifecycles.ts';

/** The forms in which Celery sends events, and the limit on the ratio of CPU times. */
const FORMS = [
  { name: 'single events', eventsPerList: undefined, ratioMax: 1.5 },
  { name: 'lists of ten', eventsPerList: 10, ratioMax: 4 },
] as const;

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, tasks: { type: 'string', default: '15000' } },
});
const rounds = Number(options.rounds);
const tasks = Number(options.tasks);

/** A process under test: its CPU time so far, and a wait until it has read a number of events. */
interface Consumer {
  cpuS(): number;
  until(events: number): Promise<void>;
}

const rabbitmq = await startRabbitmq();
const receiver = await startReceiver();
const publisher = await connect(rabbitmq.url);
const channel = await publisher.createConfirmChannel();
await channel.assertExchange('celeryev', 'topic', { durable: true, autoDelete: false });
const children = new Set<ReturnType<typeof spawn>>();
let passed = true;
try {
  const bare = await startBare();
  const bridge = await startBridge();
  let sent = 0;
  for (const { name, eventsPerList, ratioMax } of FORMS) {
    const ratios: number[] = [];
    print(`\n${name} (${tasks * EVENTS_PER_TASK} events a round)`);
    // The first round warms up the engines and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      const before = [bare.cpuS(), bridge.cpuS()] as const;
      await publish(bodies(tasks, eventsPerList));
      sent += tasks * EVENTS_PER_TASK;
      await Promise.all([bare.until(sent), bridge.until(sent)]);
      const [bareUs, bridgeUs] = [bare.cpuS() - before[0], bridge.cpuS() - before[1]].map(
        (cpuS) => (cpuS * 1e6) / (tasks * EVENTS_PER_TASK),
      );
      if (bareUs === undefined || bridgeUs === undefined || round === 0) continue;
      ratios.push(bridgeUs / bareUs);
      print(
        `  bare ${bareUs.toFixed(2)} µs  celery-otel ${bridgeUs.toFixed(2)} µs  ratio ${(bridgeUs / bareUs).toFixed(2)}`,
      );
    }
    const median = ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? Number.NaN;
    print(`  median ratio ${median.toFixed(2)}, at most ${ratioMax}`);
    passed &&= median <= ratioMax;
  }
} finally {
  for (const child of children) child.kill('SIGKILL');
  await publisher.close();
  await receiver.stop();
  await rabbitmq.remove();
}
process.exitCode = passed ? 0 : 1;

async function startBare(): Promise<Consumer> {
  const child = start([script('./bare-consumer.ts'), rabbitmq.url], {});
  let parsed = -1;
  child.stdout.on('data', (chunk: string) => {
    parsed = Number(chunk.trim().split('\n').at(-1));
  });
  const until = async (events: number): Promise<void> => {
    while (parsed < events) await once(child.stdout, 'data', { signal: AbortSignal.timeout(60_000) });
  };
  await until(0);
  return { cpuS: () => cpuSeconds(child.pid), until };
}

async function startBridge(): Promise<Consumer> {
  const child = start([script('../../src/cli/main.ts'), 'run'], {
    CELERY_BROKER_URL: rabbitmq.url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    // An export interval that does not matter here.
    OTEL_METRIC_EXPORT_INTERVAL: '5000',
  });
  let log = '';
  child.stderr.on('data', (chunk: string) => {
    log += chunk;
  });
  while (!log.includes('connected to'))
    await once(child.stderr, 'data', { signal: AbortSignal.timeout(10_000) });
  return {
    cpuS: () => cpuSeconds(child.pid),
    until: async (events) => {
      await receiver.waitFor(
        'celery-otel',
        (points) => total(points, 'celery_otel.events') >= events,
        60_000,
      );
    },
  };
}

function start(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  child.stdout.setEncoding('utf8');
  child.stderr.setEncoding('utf8');
  return child;
}

function script(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

async function publish(messages: readonly Buffer[]): Promise<void> {
  for (const [index, body] of messages.entries()) {
    channel.publish('celeryev', 'task.multi', body, {
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      headers: { hostname: 'worker-0@shop' },
      deliveryMode: 1,
    });
    if (index % 500 === 499) await channel.waitForConfirms();
  }
  await channel.waitForConfirms();
}

/** User and system time of a process (proc(5), /proc/PID/stat, fields 14 and 15). */
function cpuSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
