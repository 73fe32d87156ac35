/**
 * Measures what traces cost a task more than metrics alone, from the bytes of its events to the answer of a backend in another
 * process, all threads counted: several processes, of which one works at a time, take turns, so that other load on the machine
 * affects all. Exits with 1 if it is more than allowed, in µs of a normal machine.
 *
 *     node test/bench/tracing-cost.ts
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { slowness } from '../processor-time.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '11' },
    tasks: { type: 'string', default: '10000' },
    /** Rounds in which the engines compile what is measured, and the tables become full. */
    'warm-up': { type: 'string', default: '11' },
    only: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const tasks = Number(options.tasks);
const warmUpRounds = Number(options['warm-up']);

const OTLP = { OTEL_TRACES_EXPORTER: 'otlp', OTEL_BSP_SCHEDULE_DELAY: '1000' };
const PLAIN = { ...OTLP, OTEL_METRICS_EXEMPLAR_FILTER: 'always_off' };
const FAILURES = {
  OTEL_TRACES_SAMPLER: 'traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0.01',
  CELERY_OTEL_TRACES_KEEP: 'errors',
};
const SAMPLED = { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
/** `maxUs`: a task more than metrics alone, on a normal machine: what docs/performance.md says, and what the noise of a machine adds. */
const WAYS: readonly { name: string; env: Readonly<Record<string, string>>; maxUs: number }[] = [
  { name: 'metrics alone', env: {}, maxUs: Number.POSITIVE_INFINITY },
  { name: 'all traces', env: PLAIN, maxUs: 15 },
  { name: 'all traces and exemplars', env: OTLP, maxUs: Number.POSITIVE_INFINITY },
  { name: '1 % of the traces', env: { ...OTLP, ...SAMPLED }, maxUs: 5 },
  { name: 'whole traces of failures, and 1 % of the rest', env: { ...OTLP, ...FAILURES }, maxUs: 15 },
];

interface Process {
  readonly run: () => Promise<{ readonly spentUs: number; readonly spans: number }>;
  readonly end: () => void;
}

const sink = start('./sink-process.ts', {});
const ports: { readonly grpc: number } = JSON.parse(await sink.line());
const chosen = WAYS.filter(({ name }) => options.only === undefined || name === options.only);
const processes = chosen.map(({ env }) => tracing(env, ports.grpc));
const spentUs = chosen.map((): number[] => []);
const slownesses: number[] = [];
for (let round = -warmUpRounds; round < rounds; round += 1) {
  slownesses.push(slowness());
  for (const [index, { run }] of processes.entries()) {
    const spent = await run();
    if (round >= 0) spentUs[index]?.push(spent.spentUs / tasks);
  }
}
for (const { end } of [...processes, sink]) end();

const slow = median(slownesses);
print(`this machine takes ${slow.toFixed(2)} times as long as a normal one`);
const [alone = []] = spentUs;
for (const [index, { name, maxUs }] of chosen.entries()) {
  const us = median(spentUs[index] ?? []);
  // Of the same round.
  const more = median((spentUs[index] ?? []).map((each, round) => each - (alone[round] ?? Number.NaN)));
  print(
    `${name}: ${us.toFixed(2)} µs a task; more than metrics alone ${more.toFixed(2)} µs, ${(more / median(alone)).toFixed(2)} times those; on a normal machine ${(more / slow).toFixed(2)} µs, at most ${maxUs}`,
  );
  if (more / slow > maxUs) process.exitCode = 1;
}

function tracing(env: Readonly<Record<string, string>>, port: number): Process {
  const child = start('./tracing-process.ts', {
    ...{ CELERY_BROKER_URL: 'redis://127.0.0.1:1', OTEL_SERVICE_NAME: 'shop' },
    ...{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    ...env,
  });
  return {
    async run() {
      child.write(`${tasks}\n`);
      return JSON.parse(await child.line());
    },
    end: child.end,
  };
}

function start(script: string, env: Readonly<Record<string, string>>) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, path], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: Interface = createInterface(child.stdout);
  return {
    async line(): Promise<string> {
      const [line] = await once(lines, 'line', { signal: AbortSignal.timeout(120_000) });
      return line;
    },
    write: (text: string) => child.stdin.write(text),
    end: () => child.stdin.end(),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
