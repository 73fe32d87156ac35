/**
 * `npm test`: installs the real programs that tests need, runs the tests, and is stricter than Node: a run without a
 * test fails, and with `CI=true` a skipped or todo test does too.
 *
 *     npm test [-- [--fast] [--coverage] [--test-name-pattern=PATTERN] [file or folder …]]
 *
 * `--fast` (`npm run test:fast`) excludes tests that need a real program or take long; `--coverage` measures the
 * coverage of `src/` and fails if it is below the minimum.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { lendMain } from '../test/e2e/built-main.ts';
import { ensureNewestCelery, ensureRealParts, partVersions } from '../test/real/install.ts';
import { lendRabbitmq } from '../test/real/lent-rabbitmq.ts';
import { ensureOtelcol } from './otelcol.ts';
import { areMany, filesFor, processesFor, ROOT } from './test-files.ts';

/** More than cores, since tests of real programs mostly wait. */
const FILES_AT_ONCE = 3;
/** Ends a test file that hangs; waiting tests have shorter limits of their own. */
const FILE_TIMEOUT_MS = 8 * 60_000;
/**
 * Percent of `src/`; a little below today’s coverage by the fast tests. What speaks with brokers is covered by the others,
 * which need them.
 */
const COVERED_MIN = { lines: 95, branches: 95 };

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

/** Finds what is wrong with a run although no test failed. */
class Verdict {
  #ran = 0;
  /** In the file whose suite is being reported: its tests come before it. */
  #ranInFile = 0;
  readonly #unfinished: string[] = [];
  readonly #empty: string[] = [];
  readonly #files: ReadonlySet<string>;

  constructor(files: readonly string[]) {
    this.#files = new Set(files);
  }

  /** Takes the report of a test that passed or failed. */
  take({ name, file, nesting, skip, todo, details }: TestReport): void {
    if (details?.type !== 'suite') this.#ranInFile += 1;
    const isSuiteOfFile = nesting === 0 && details?.type === 'suite' && this.#files.has(name);
    const ran = this.#ranInFile;
    if (nesting === 0) this.#ranInFile = 0;
    // Node reports a file in which nothing ran as one test that passed.
    if (file !== undefined && path.resolve(name) === file) this.#empty.push(path.relative(ROOT, file));
    else if (isSuiteOfFile) this.#empty.push(...(ran === 0 ? [name] : []));
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
  readonly nesting: number;
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
  readonly coverage: boolean;
  readonly patterns: readonly string[];
}

/** @returns whether all is well */
async function runTests(files: readonly string[], { fast, coverage, patterns }: Options): Promise<boolean> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      process.exitCode = 128 + constants.signals[signal];
      stop.abort();
    });
  }
  const verdict = new Verdict(files);
  let success = true;
  const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-tests-'));
  const events = run({
    files: [...programsFor(processesFor(files), folder)],
    // Some of the fast tests wait, too.
    concurrency: fast ? availableParallelism() + 1 : FILES_AT_ONCE,
    coverage,
    coverageIncludeGlobs: 'src/**',
    timeout: FILE_TIMEOUT_MS,
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
  rmSync(folder, { recursive: true });
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
    coverage: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
try {
  const { fast, coverage, 'test-name-pattern': patterns } = values;
  if (!fast) {
    ensureRealParts();
    process.stdout.write(`${partVersions(ensureNewestCelery(), ensureOtelcol())}\n`);
  }
  const files = filesFor(positionals.length > 0 ? positionals : ['test'], fast);
  const areLent = !fast && areMany(files);
  const [rabbitmq, main] = areLent ? await Promise.all([lendRabbitmq(), lendMain()]) : [];
  const [isWell] = await Promise.all([runTests(files, { fast, coverage, patterns }), rabbitmq?.started]);
  await rabbitmq?.remove();
  main?.remove();
  if (!isWell) process.exitCode ??= 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
