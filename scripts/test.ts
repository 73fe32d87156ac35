/**
 * `npm test`: installs the real programs that tests need, runs the tests, and is stricter than Node: a run without a
 * test fails, and with `CI=true` a skipped or todo test does too.
 *
 *     npm test [-- [--fast] [--limits] [--coverage] [--test-name-pattern=PATTERN] [file or folder …]]
 *
 * `--limits` (`npm run test:limits`) runs the other suite: what the program costs (`*.limits.ts`), one file after another.
 * `--fast` (`npm run test:fast`) excludes tests that need a real program or take long; `--coverage` measures the
 * coverage of `src/` and fails if it is below the minimum.
 */
import { globSync, statSync } from 'node:fs';
import { availableParallelism, constants } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { ensureNewestCelery, ensureRealParts, partVersions } from '../test/real/install.ts';
import { ensureOtelcol } from './otelcol.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
/** More than cores, since tests of real programs mostly wait. */
const FILES_AT_ONCE = 3;
/** Ends a test file that hangs; waiting tests have shorter limits of their own. */
const FILE_TIMEOUT_MS = 8 * 60_000;
/** Of the second suite, whose files measure for minutes. */
const LIMITS_FILE_TIMEOUT_MS = 30 * 60_000;
/** They start Redis servers. */
const REAL_REDIS = ['envelopes', 'layouts', 'loss', 'queue-poll', 'reasons', 'transport'].map(
  (name) => `test/broker/redis/${name}`,
);
/** These run first, the slowest at the start, so that none runs alone at the end. */
const SLOW = [
  'test/e2e/',
  'test/contract/package',
  'test/broker/amqp/transport',
  'test/broker/amqp/restart',
  'test/broker/amqp/queue-poll',
  'test/broker/control.test',
  'test/broker/recorded-events',
  ...REAL_REDIS,
  'test/real/',
  'test/cluster/',
  'test/scripts/bootstrap',
  'test/otlp/send/exporter-',
];
/** Of those, these mostly wait: one of them runs beside every two that compute. */
const WAITING =
  /e2e\/(?:prometheus|silence|lost|two-brokers|started|signals|waits|missing-events|stale|events-lost|redis-outages|queue-depth|restart-in|enable-events|worker-pools|check|iso.*(?:n|celery|settings)\.)|broker\/(?:amqp\/|redis\/|control\.)|real\/|exporter-|bootstrap/u;
/** Excluded by `--fast`. */
const NOT_FAST = [
  ...[
    'test/e2e/',
    'test/real/',
    'test/broker/amqp/transport',
    'test/broker/amqp/restart',
    'test/broker/amqp/queue-poll',
    'test/broker/control.test',
    'test/broker/recorded-events',
    ...REAL_REDIS,
    'test/recordings/',
  ],
  ...['test/otlp/through-collector', 'test/otel-config/', 'test/demo/demo.test', 'test/examples/'],
  ...['test/contract/package', 'test/scripts/test.test'],
];
/**
 * Percent of `src/`; a little below today’s coverage by the fast tests. What speaks with brokers is covered by the others,
 * which need them.
 */
const COVERED_MIN = { lines: 95, branches: 95 };

const startsWith = (file: string, beginnings: readonly string[]): boolean =>
  beginnings.some((beginning) => file.startsWith(beginning));

/** The test files for the arguments; a folder means all files in it. */
function filesFor(
  selection: readonly string[],
  { fast, limits }: { fast: boolean; limits: boolean },
): readonly string[] {
  const files = selection
    .map((name) => path.relative(ROOT, path.resolve(name)))
    .flatMap((name) =>
      statSync(path.resolve(ROOT, name), { throwIfNoEntry: false })?.isDirectory()
        ? globSync(`${name}/**/*.${limits ? 'limits' : 'test'}.ts`, { cwd: ROOT }).sort()
        : [name],
    )
    .filter((file) => !fast || !startsWith(file, NOT_FAST));
  const { slow = [], quick = [] } = Object.groupBy(files, (file) =>
    startsWith(file, SLOW) ? 'slow' : 'quick',
  );
  const { waiting = [], computing = [] } = Object.groupBy(slow, (file) =>
    WAITING.test(file) ? 'waiting' : 'computing',
  );
  const beside = computing.flatMap((file, index) => [...(index % 2 === 0 ? waiting.splice(0, 1) : []), file]);
  return [...beside, ...waiting, ...quick];
}

/** Finds what is wrong with a run although no test failed. */
class Verdict {
  #ran = 0;
  readonly #unfinished: string[] = [];
  readonly #empty: string[] = [];

  /** Takes the report of a test that passed or failed. */
  take({ name, file, skip, todo, details }: TestReport): void {
    // Node reports a file in which nothing ran as one test that passed.
    if (file !== undefined && path.resolve(name) === file) this.#empty.push(path.relative(ROOT, file));
    else if (skip !== undefined || todo !== undefined) this.#unfinished.push(name);
    else if (details?.type !== 'suite') this.#ran += 1;
  }

  sentences({ strict, filtered }: { strict: boolean; filtered: boolean }): readonly string[] {
    return [
      ...(this.#ran === 0 ? ['No test ran.'] : []),
      ...(filtered ? [] : this.#empty.map((file) => `No test ran in ${file}.`)),
      ...(strict ? this.#unfinished.map((name) => `Skipped or todo, which CI=true forbids: ${name}`) : []),
    ];
  }
}

interface TestReport {
  readonly name: string;
  readonly file?: string | undefined;
  readonly skip?: string | boolean | undefined;
  readonly todo?: string | boolean | undefined;
  readonly details?: { readonly type?: string | undefined };
}

/** The counts of one file or of all. */
type Covered = Record<`${'total' | 'covered'}${'Line' | 'Branch'}Count`, number>;

/** One line for each room of `src/`, and a message for each minimum that is not reached. */
function coverageReport(summary: { files: (Covered & { path: string })[]; totals: Covered }) {
  const percent = (covered: number, total: number) => (100 * covered) / total;
  const of = (counts: readonly Covered[]) => {
    const sum = (key: keyof Covered) => counts.reduce((all, each) => all + each[key], 0);
    return {
      lines: percent(sum('coveredLineCount'), sum('totalLineCount')),
      branches: percent(sum('coveredBranchCount'), sum('totalBranchCount')),
    };
  };
  const line = (name: string, { lines, branches }: ReturnType<typeof of>) =>
    `${name.padEnd(20)} ${lines.toFixed(1).padStart(5)} % of lines, ${branches.toFixed(1).padStart(5)} % of branches\n`;
  const rooms = Map.groupBy(summary.files, (file) => path.relative(ROOT, path.dirname(file.path)));
  const all = of([summary.totals]);
  return {
    text: [...rooms].map(([room, files]) => line(room, of(files))).join('') + line('all', all),
    flaws: (['lines', 'branches'] as const)
      .filter((what) => all[what] < COVERED_MIN[what])
      .map(
        (what) =>
          `Coverage of ${what} is ${all[what].toFixed(1)} %, below the minimum of ${COVERED_MIN[what]} %.`,
      ),
  };
}

interface Options {
  readonly fast: boolean;
  readonly limits: boolean;
  readonly coverage: boolean;
  readonly patterns: readonly string[];
}

/** @returns whether all is well */
async function runTests(
  files: readonly string[],
  { fast, limits, coverage, patterns }: Options,
): Promise<boolean> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      process.exitCode = 128 + constants.signals[signal];
      stop.abort();
    });
  }
  const verdict = new Verdict();
  let success = true;
  const events = run({
    files: files.map((file) => path.resolve(ROOT, file)),
    // Some of the fast tests wait, too.
    concurrency: fast ? availableParallelism() + 1 : limits ? 1 : FILES_AT_ONCE,
    coverage,
    coverageIncludeGlobs: 'src/**',
    timeout: limits ? LIMITS_FILE_TIMEOUT_MS : FILE_TIMEOUT_MS,
    testNamePatterns: [...patterns],
    signal: stop.signal,
  });
  events.on('test:pass', (report) => verdict.take(report));
  events.on('test:fail', (report) => {
    verdict.take(report);
    // A failing todo test does not fail Node’s run.
    if (report.todo === undefined) success = false;
  });
  const covered = { text: '', flaws: [] as readonly string[] };
  events.on('test:coverage', ({ summary }) => Object.assign(covered, coverageReport(summary)));
  const reported = events.filter(({ type }: { type: string }) => type !== 'test:coverage');
  for await (const text of reported.compose(new spec())) process.stdout.write(text);
  if (stop.signal.aborted) return false;
  process.stdout.write(covered.text);
  const strict = process.env['CI'] === 'true';
  const flaws = [...verdict.sentences({ strict, filtered: patterns.length > 0 }), ...covered.flaws];
  for (const flaw of flaws) process.stderr.write(`✖ ${flaw}\n`);
  return success && flaws.length === 0;
}

const { values, positionals } = parseArgs({
  options: {
    'test-name-pattern': { type: 'string', multiple: true, default: [] },
    fast: { type: 'boolean', default: false },
    limits: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
try {
  const { fast, limits, coverage, 'test-name-pattern': patterns } = values;
  if (!fast) {
    ensureRealParts();
    process.stdout.write(`${partVersions(ensureNewestCelery(), ensureOtelcol())}\n`);
  }
  const files = filesFor(positionals.length > 0 ? positionals : ['test'], { fast, limits });
  if (!(await runTests(files, { fast, limits, coverage, patterns }))) process.exitCode ??= 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
