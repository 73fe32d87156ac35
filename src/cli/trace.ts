/**
 * `celery-otel trace UUID`: prints the trace of one task as a tree, from a recording, from a live cluster, or from what a running
 * instance remembers. It exports nothing and changes nothing.
 */
import { isReplay } from '../broker/kinds.ts';
import { resolveConfig } from '../config/load-config.ts';
import { EVERYTHING, SHOWN } from '../service/telemetry.ts';
import type { CommandIo } from './command-io.ts';
import { openLog } from './command-log.ts';
import { EXIT_CODE } from './exit-code.ts';
import { type Followed, followTrace } from './follow-trace.ts';
import { atFullSpeed } from './full-speed.ts';
import { print, printProgress, reportMistakes, reportWarnings } from './print.ts';
import { printRemembered } from './remembered-trace.ts';
import { isAddress } from './top-request.ts';
import { traceTree } from './trace-tree.ts';
import { untilStopped } from './until-stopped.ts';

const REFRESH_MS = 250;
/** A trace is over once none of its tasks is open, and nothing has arrived for this long. */
const QUIET_MS = 3000;
const COLUMNS = 120;
const ROWS_MAX = 1000;
const USAGE =
  'Try: celery-otel trace UUID [options of run], or trace UUID http://HOST:PORT of a running instance';

/** @returns 1 if no run of the task was seen */
export async function trace(argv: readonly string[], io: CommandIo): Promise<number> {
  const [id = '', ...options] = argv;
  if (!/^\w\S{0,254}$/u.test(id)) {
    print(io.stderr, `celery-otel trace did not start: expected the id of a task, or of a trace\n${USAGE}\n`);
    return EXIT_CODE.misconfigured;
  }
  const size = { columns: columnsOf(io), rowsMax: ROWS_MAX };
  const [address = ''] = options;
  if (isAddress(address)) {
    if (options.length === 1) return printRemembered(id, new URL(address), io, size);
    print(io.stderr, `celery-otel trace did not start: expected no options with an address\n${USAGE}\n`);
    return EXIT_CODE.misconfigured;
  }
  const resolved = resolveConfig('trace', { argv: options, env: io.env, refuseUnknown: true });
  if (!resolved.ok) return reportMistakes('trace', resolved.mistakes, io);
  const { services, traces, logs, logLevel } = resolved.config;
  const report = openLog(logLevel, io);
  reportWarnings(resolved.warnings, io);
  const ending = new AbortController();
  const settings = {
    ...(traces?.settings ?? EVERYTHING),
    sampler: EVERYTHING.sampler,
    spans: EVERYTHING.spans,
  };
  const exceptions = traces?.exceptions ?? logs?.settings ?? SHOWN;
  const how = { id, settings, exceptions, report, random: Math.random, signal: ending.signal };
  const isLive = services.some(({ broker }) => !isReplay(broker.urls));
  if (isLive) print(io.stderr, `${onlyFrom('now on')}\n`);
  const followed = services.map((service) => followTrace(atFullSpeed(service), how));
  const over = Promise.all(followed.map(({ done }) => done));
  const stopLooking = lookFor(followed, io, () => ending.abort());
  const job = {
    start: () => {},
    finished: over,
    async stop() {
      ending.abort();
      await over;
    },
  };
  await untilStopped(job, io, () => {});
  stopLooking();
  const trees = followed.map(({ spans }) => spans()).filter((spans) => spans.length > 0);
  if (trees.length === 0) {
    const why = isLive ? `; ${onlyFrom('the start on')}` : '';
    print(io.stderr, `no run of the task ${id} was seen from its receipt to its end${why}\n`);
    return EXIT_CODE.failed;
  }
  for (const spans of trees) print(io.stdout, `${traceTree(spans, size)}\n`);
  return EXIT_CODE.ok;
}

/** Shows the progress on a terminal, and calls `end` when the trace is over. @returns a function that stops it */
function lookFor(followed: readonly Followed[], { stderr }: CommandIo, end: () => void): () => void {
  let seen = '';
  let sinceMs = performance.now();
  const timer = setInterval(() => {
    const runs = followed.reduce((sum, { spans }) => sum + spans().length, 0);
    const open = followed.reduce((sum, each) => sum + each.open(), 0);
    const now = `${runs} spans, ${open} tasks open`;
    if (now !== seen) [seen, sinceMs] = [now, performance.now()];
    if (stderr.isTTY === true) printProgress(stderr, `following the trace: ${now}; Ctrl-C prints it`);
    if (runs > 0 && open === 0 && performance.now() - sinceMs > QUIET_MS) end();
  }, REFRESH_MS);
  return () => {
    clearInterval(timer);
    if (stderr.isTTY === true) printProgress(stderr, '');
  };
}

/** A warning for live clusters: a broker keeps no events. */
function onlyFrom(since: 'now on' | 'the start on'): string {
  return `only events from ${since} are seen: of a task that ended before, a backend has the trace if celery-otel run exported it, and a recording if celery-otel record was running`;
}

function columnsOf({ stdout }: CommandIo): number {
  const columns: unknown = 'columns' in stdout ? stdout.columns : undefined;
  return typeof columns === 'number' && columns > 0 ? columns : COLUMNS;
}
