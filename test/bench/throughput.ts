/**
 * Measures CPU per event of the whole `celery-otel run` process against a bare consumer that only parses JSON: both
 * read the same messages from the same broker at the same time, so the ratio is comparable across machines. Exits with 1
 * if a ratio exceeds its limit.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { type BenchBroker, rabbitmqBroker, redisBroker } from './bench-brokers.ts';
import { bodies, EVENTS_PER_TASK } from './lifecycles.ts';

/** The forms in which Celery sends events, and the limits on the ratios of CPU times. Lists take less time: more are needed. */
const FORMS = [
  { name: 'single events', eventsPerList: undefined, times: 1, ratioMax: { RabbitMQ: 1.5, Redis: 2.5 } },
  { name: 'lists of ten', eventsPerList: 10, times: 3, ratioMax: { RabbitMQ: 2.5, Redis: 2.5 } },
] as const;
const BROKERS = { rabbitmq: rabbitmqBroker, redis: redisBroker };

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    tasks: { type: 'string', default: '15000' },
    /** Whether runs are remembered for the pages. */
    pages: { type: 'boolean', default: false },
    /** Of the exports, in ms: each round waits for one. */
    interval: { type: 'string', default: '5000' },
    broker: { type: 'string', multiple: true, default: Object.keys(BROKERS) },
  },
});
const rounds = Number(options.rounds);

/** A process under test: its CPU time so far, and a wait until it has read a number of events. */
interface Consumer {
  cpuUs(): number;
  until(events: number): Promise<void>;
}

let passed = true;
for (const [key, start] of Object.entries(BROKERS)) {
  if (options.broker.includes(key)) await measure(await start());
}
process.exitCode = passed ? 0 : 1;

async function measure(broker: BenchBroker): Promise<void> {
  const receiver = await startReceiver();
  const children = new Set<ReturnType<typeof spawn>>();
  try {
    const bare = await startBare(broker, children);
    const bridge = await startBridge(broker, receiver, children);
    let sent = 0;
    for (const { name, eventsPerList, times, ratioMax } of FORMS) {
      const tasks = Number(options.tasks) * times;
      const ratios: number[] = [];
      print(`\n${broker.name}, ${name} (${tasks * EVENTS_PER_TASK} events a round)`);
      // The first round warms up the engines and is not counted.
      for (let round = 0; round <= rounds; round += 1) {
        const before = [bare.cpuUs(), bridge.cpuUs()] as const;
        await broker.publish(bodies(tasks, eventsPerList));
        sent += tasks * EVENTS_PER_TASK;
        await Promise.all([bare.until(sent), bridge.until(sent)]);
        const bareUs = (bare.cpuUs() - before[0]) / (tasks * EVENTS_PER_TASK);
        const bridgeUs = (bridge.cpuUs() - before[1]) / (tasks * EVENTS_PER_TASK);
        if (round === 0) continue;
        ratios.push(bridgeUs / bareUs);
        print(
          `  bare ${bareUs.toFixed(2)} µs  celery-otel ${bridgeUs.toFixed(2)} µs  ratio ${(bridgeUs / bareUs).toFixed(2)}`,
        );
      }
      const median = ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? Number.NaN;
      const max = ratioMax[broker.name];
      print(`  median ratio ${median.toFixed(2)}, at most ${max}`);
      passed &&= median <= max;
    }
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await receiver.stop();
    await broker.stop();
  }
}

type Children = Set<ReturnType<typeof spawn>>;

async function startBare({ url, bareConsumer }: BenchBroker, children: Children): Promise<Consumer> {
  const child = start([script(bareConsumer), url], {}, children);
  let parsed = -1;
  child.stdout.on('data', (chunk: string) => {
    parsed = Number(chunk.trim().split('\n').at(-1));
  });
  const until = async (events: number): Promise<void> => {
    while (parsed < events) await once(child.stdout, 'data', { signal: AbortSignal.timeout(60_000) });
  };
  await until(0);
  return { cpuUs: () => cpuMicroseconds(child.pid), until };
}

async function startBridge(
  { url }: BenchBroker,
  receiver: Awaited<ReturnType<typeof startReceiver>>,
  children: Children,
): Promise<Consumer> {
  const env = {
    CELERY_BROKER_URL: url,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_METRIC_EXPORT_INTERVAL: options.interval,
    // Counts are waited for.
    CELERY_OTEL_ZERO_FIRST: 'off',
    ...(options.pages && { CELERY_OTEL_STATUS_ADDRESS: '0' }),
  };
  const child = start([script('../../src/cli/main.ts'), 'run'], env, children);
  let log = '';
  child.stderr.on('data', (chunk: string) => {
    log += chunk;
  });
  while (!log.includes('connected to'))
    await once(child.stderr, 'data', { signal: AbortSignal.timeout(10_000) });
  return {
    cpuUs: () => cpuMicroseconds(child.pid),
    until: async (events) => {
      await receiver.waitFor(
        'celery-otel',
        (points) => total(points, 'celery_otel.events') >= events,
        60_000,
      );
    },
  };
}

function start(args: readonly string[], env: Readonly<Record<string, string>>, children: Children) {
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

/** Of all its threads: /proc/PID/task/TID/schedstat, whose first field is the time on a processor in ns (Linux: sched-stats). */
function cpuMicroseconds(pid: number | undefined): number {
  const ofThread = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]);
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + ofThread(thread) / 1000, 0);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
