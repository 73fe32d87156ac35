/** Runs test files in processes of Node’s runner, and reports what came of them. It does not choose files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { type CoverageReport, coverageReport } from './test-coverage.ts';
import { FIGURE, type Figure, readFigure } from './test-figures.ts';
import { processesFor, ROOT } from './test-files.ts';
import { type TestReport, Verdict } from './test-verdict.ts';

/** More than cores, since tests of real programs mostly wait; a bound, since each has programs of hundreds of MiB. */
const FILES_AT_ONCE = Math.min(2 * availableParallelism(), 8);
/** Ends a file that does not end by itself; tests have limits of their own. */
const FILE_TIMEOUT_MS = 30 * 60_000;
const REASON_CHARS_MAX = 1500;
/** Ends a process in which a test takes too long. */
const TIME_LIMIT = pathToFileURL(path.resolve(ROOT, 'test/time-limit.ts')).href;

/** How many files run at once, and whether each test has a limit. */
const PACES = {
  /** Some of them wait. */
  fast: { atOnce: availableParallelism() + 1, execArgv: ['--import', TIME_LIMIT] },
  mixed: { atOnce: FILES_AT_ONCE, execArgv: ['--import', TIME_LIMIT] },
  one: { atOnce: 1, execArgv: ['--import', TIME_LIMIT] },
  /** Tests of costs, some of which measure for minutes. */
  alone: { atOnce: 1, execArgv: [] },
} as const;
type Pace = keyof typeof PACES;

export interface RunOptions {
  readonly pace: Pace;
  readonly coverage: boolean;
  readonly patterns: readonly string[];
}

export interface RunOutcome {
  readonly verdict: Verdict;
  readonly covered: CoverageReport;
  readonly figures: readonly Figure[];
  readonly wasStopped: boolean;
}

export async function runTests(
  files: readonly string[],
  { pace, coverage, patterns }: RunOptions,
): Promise<RunOutcome> {
  const stop = new AbortController();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (signal: (typeof signals)[number]) => {
    process.exitCode = 128 + constants.signals[signal];
    stop.abort();
  };
  for (const signal of signals) process.once(signal, onSignal);
  const processes = processesFor(files);
  const verdict = new Verdict(files, processes.filter((each) => each.length > 1).flat());
  const figures: Figure[] = [];
  const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-tests-'));
  const events = run({
    files: [...programsFor(processes, folder)],
    concurrency: PACES[pace].atOnce,
    coverage,
    coverageIncludeGlobs: 'src/**',
    timeout: FILE_TIMEOUT_MS,
    execArgv: PACES[pace].execArgv,
    testNamePatterns: [...patterns],
    signal: stop.signal,
  });
  events.on('test:pass', (report) => verdict.passed(report));
  events.on('test:fail', (report) => {
    verdict.failed(report);
    process.stdout.write(reasonOf(report));
  });
  events.on('test:diagnostic', ({ message }) => {
    if (message.startsWith(FIGURE)) figures.push(readFigure(message));
  });
  let covered: CoverageReport = { text: '', flaws: [] };
  events.on('test:coverage', ({ summary }) => {
    covered = coverageReport(summary);
  });
  const reported = events.filter(({ type }: { type: string }) => type !== 'test:coverage');
  for await (const text of reported.compose(new spec())) process.stdout.write(text);
  rmSync(folder, { recursive: true });
  for (const signal of signals) process.removeListener(signal, onSignal);
  return { verdict, covered, figures, wasStopped: stop.signal.aborted };
}

/** Why a test failed: the reporter prints that only at the end, which a run that is stopped does not reach. */
function reasonOf({ details: { type, error } = {} }: TestReport): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return type === 'suite' ? '' : `    ${inspect(cause, { depth: 1 }).slice(0, REASON_CHARS_MAX)}\n`;
}

/**
 * Writes a program for each process that runs several files; each file is a suite of its name.
 * @returns the program or test file of each process
 */
function programsFor(processes: readonly (readonly string[])[], folder: string): readonly string[] {
  return processes.map((files, index) => {
    const [first = '', ...more] = files.map((file) => path.resolve(ROOT, file));
    if (more.length === 0) return first;
    const program = path.join(folder, `${index}.test.mjs`);
    const suites = files.map((file) => {
      const [name, url] = [file, pathToFileURL(path.resolve(ROOT, file)).href].map((text) =>
        JSON.stringify(text),
      );
      return `suite(${name}, () => import(${url}));`;
    });
    writeFileSync(program, ["import { suite } from 'node:test';", ...suites, ''].join('\n'));
    return program;
  });
}
