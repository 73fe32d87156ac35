/**
 * `npm run test:release`: runs what changes only with its own subject, or takes too long for each run of the tests
 * (`*.release.ts`): the package as users install it, the single executable, the image, the chart, Compose and systemd, the
 * programs of `scripts/` and the real parts of the tests; and the fast tests on the oldest Node. At the end it prints what was
 * covered, and what was left out and why. With `CI=true`, nothing may be left out.
 *
 *     npm run test:release [-- file …]     with files: those alone
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { ensureLinters } from '../test/deploy/linters.ts';
import { ensureRealParts } from '../test/real/install.ts';
import { ROOT } from './test-files.ts';

/** An image is built from nothing, tools from their sources. */
const FILE_TIMEOUT_MS = 60 * 60_000;

/** What came of a file. */
interface Outcome {
  passed: number;
  failed: number;
  /** Also by a hook, which is in no test. */
  isWell: boolean;
  /** Of suites and tests that were skipped, as they say. */
  readonly reasons: Set<string>;
}

async function runFiles(files: readonly string[]): Promise<ReadonlyMap<string, Outcome>> {
  const outcomes = new Map<string, Outcome>(
    files.map((file) => [
      path.resolve(ROOT, file),
      { passed: 0, failed: 0, isWell: true, reasons: new Set() },
    ]),
  );
  // One after the other: they build with all cores.
  const events = run({ files: [...outcomes.keys()], concurrency: 1, timeout: FILE_TIMEOUT_MS });
  events.on('test:pass', ({ file = '', skip, details }) => {
    const outcome = outcomes.get(file);
    if (skip !== undefined) outcome?.reasons.add(String(skip));
    else if (outcome !== undefined && details.type !== 'suite') outcome.passed += 1;
  });
  events.on('test:fail', ({ file = '', name, details }) => {
    const outcome = outcomes.get(file) ?? outcomes.get(path.resolve(name));
    if (outcome === undefined) return;
    outcome.isWell = false;
    if (details.type !== 'suite') outcome.failed += 1;
  });
  for await (const text of events.compose(new spec())) process.stdout.write(text);
  return outcomes;
}

/** Prints a line for each file. @returns whether all is well */
function report(outcomes: ReadonlyMap<string, Outcome>): boolean {
  const rows = [...outcomes].map(([file, outcome]) => ({ name: path.relative(ROOT, file), ...outcome }));
  process.stdout.write('\nCovered:\n');
  for (const { name, passed, failed, isWell } of rows.filter((row) => row.passed > 0 || !row.isWell))
    process.stdout.write(`  ${isWell ? '✔' : '✖'} ${name}: ${passed} passed, ${failed} failed\n`);
  const leftOut = rows.flatMap(({ name, passed, isWell, reasons }) => {
    if (passed === 0 && isWell && reasons.size === 0) return [`${name}: no test ran`];
    return [...reasons].map((reason) => `${name}: ${reason}`);
  });
  if (leftOut.length > 0)
    process.stdout.write(`\nLeft out:\n${leftOut.map((line) => `  ${line}\n`).join('')}`);
  const ran = rows.some(({ passed }) => passed > 0);
  return ran && rows.every(({ isWell }) => isWell) && (process.env['CI'] !== 'true' || leftOut.length === 0);
}

/** @returns its exit code; null if a signal ended it */
function runOnOldestNode(): number | null {
  const program = path.join(ROOT, 'scripts/oldest-node.mjs');
  return spawnSync(process.execPath, [program], { stdio: 'inherit' }).status;
}

try {
  ensureRealParts();
  ensureLinters();
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : globSync('test/**/*.release.ts', { cwd: ROOT }).sort();
  const isWell = report(await runFiles(files));
  const onOldest = named.length > 0 ? 0 : runOnOldestNode();
  if (!isWell || onOldest !== 0) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
