/**
 * `celery-otel check`: watches brokers, workers and backend for a few seconds, and prints what is wrong with them. It
 * counts nothing, exports nothing and changes nothing.
 */
import { logVerbosity, setLogVerbosity } from '@grpc/grpc-js';
import { type Check, findingsOf, gradeOf, startCheck } from '../check/check.ts';
import { reportJson, reportText } from '../check/report.ts';
import { resolveConfig } from '../config/load-config.ts';
import type { CommandIo } from './command-io.ts';
import { EXIT_CODE } from './exit-code.ts';
import { print, printProgress, reportMistakes, reportWarnings } from './print.ts';
import { untilStopped } from './until-stopped.ts';

const PROGRESS_MS = 250;

const EXIT_CODES = { fine: EXIT_CODE.ok, degraded: EXIT_CODE.degraded, down: EXIT_CODE.down } as const;

/** @returns 2 if something is down, 1 if something is degraded, otherwise 0 */
export async function check(argv: readonly string[], io: CommandIo): Promise<number> {
  const resolved = resolveConfig('check', { argv, env: io.env, refuseUnknown: true });
  if (!resolved.ok) return reportMistakes('check', resolved.mistakes, io);
  reportWarnings(resolved.warnings, io);
  const { config, options } = resolved;
  // grpc-js would log proxy failures to stderr; the report already contains them.
  setLogVerbosity(logVerbosity.NONE);
  const watchMs = options.need('seconds') * 1000;
  const ending = new AbortController();
  const started = startCheck(config, { watchMs, random: Math.random, signal: ending.signal });
  const stopProgress = showProgress(started, watchMs, io);
  // If it ends early, the report contains what was seen so far.
  const job = { start: () => {}, finished: started.report, stop: async () => ending.abort() };
  await untilStopped(job, io, () => {});
  const report = await started.report;
  stopProgress();
  print(io.stdout, options.need('json') ? reportJson(report) : reportText(report));
  return EXIT_CODES[gradeOf(findingsOf(report))];
}

/** Shows progress, on a terminal only. @returns a function that stops it and clears its line */
function showProgress({ seen }: Check, watchMs: number, { stderr }: CommandIo): () => void {
  if (stderr.isTTY !== true) return () => {};
  const beganMs = performance.now();
  const show = (): void => {
    const { workers, events } = seen();
    const seconds = Math.round((performance.now() - beganMs) / 1000);
    const soFar = `${seconds} of about ${Math.round(watchMs / 1000)} s`;
    printProgress(stderr, `checking, ${soFar}: ${workers} workers, ${events} events`);
  };
  const timer = setInterval(show, PROGRESS_MS);
  show();
  return () => {
    clearInterval(timer);
    printProgress(stderr, '');
  };
}
