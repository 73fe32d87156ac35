/**
 * `npm test`: puts the real programs there that tests run, runs the tests and judges the run more strictly than Node
 * does. With `CI=true` a test that was skipped or is still to be written is a failure; a run without a test always is.
 *
 *     npm test [-- [--test-name-pattern=PATTERN] [file or folder …]]
 */
import { globSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { ensureNewestCelery, ensureRealParts, partVersions } from '../test/real/install.ts';
import { ensureOtelcol } from './otelcol.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
/** Two, since most of what a test of real programs does is to wait for them. */
const FILES_AT_ONCE = 2;
/** Ends a file that hangs; tests that wait for something have shorter limits of their own. */
const FILE_TIMEOUT_MS = 8 * 60_000;
/** Those that take longest go first, so that none is left running alone at the end. */
const SLOW_FIRST = ['test/e2e/', 'test/broker/', 'test/contract/'];

/** Test files for the arguments as given; a folder stands for all in it. */
function filesFor(selection: readonly string[]): readonly string[] {
  const rank = (file: string) => {
    const place = SLOW_FIRST.findIndex((folder) => file.startsWith(folder));
    return place < 0 ? SLOW_FIRST.length : place;
  };
  return selection
    .map((name) => path.relative(ROOT, path.resolve(name)))
    .flatMap((name) =>
      statSync(path.resolve(ROOT, name), { throwIfNoEntry: false })?.isDirectory()
        ? globSync(`${name}/**/*.test.ts`, { cwd: ROOT }).sort()
        : [name],
    )
    .toSorted((a, b) => rank(a) - rank(b));
}

/** What is wrong with a run although no test failed. */
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
      ...(filtered ? [] : this.#empty.map((file) => `In ${file} no test ran.`)),
      ...(strict
        ? this.#unfinished.map((name) => `With CI=true no test may be skipped or to do: ${name}`)
        : []),
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

/** @returns whether all is well */
async function runTests(files: readonly string[], patterns: readonly string[]): Promise<boolean> {
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
    concurrency: FILES_AT_ONCE,
    timeout: FILE_TIMEOUT_MS,
    testNamePatterns: [...patterns],
    signal: stop.signal,
  });
  events.on('test:pass', (report) => verdict.take(report));
  events.on('test:fail', (report) => {
    verdict.take(report);
    // A failing test that is marked as to do does not fail Node's run.
    if (report.todo === undefined) success = false;
  });
  for await (const text of events.compose(new spec())) process.stdout.write(text);
  if (stop.signal.aborted) return false;
  const flaws = verdict.sentences({ strict: process.env['CI'] === 'true', filtered: patterns.length > 0 });
  for (const flaw of flaws) process.stderr.write(`✖ ${flaw}\n`);
  return success && flaws.length === 0;
}

const { values, positionals } = parseArgs({
  options: { 'test-name-pattern': { type: 'string', multiple: true, default: [] } },
  allowPositionals: true,
});
try {
  ensureRealParts();
  process.stdout.write(`${partVersions(ensureNewestCelery(), ensureOtelcol())}\n`);
  const files = filesFor(positionals.length > 0 ? positionals : ['test']);
  if (!(await runTests(files, values['test-name-pattern']))) process.exitCode ??= 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
