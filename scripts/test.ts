/**
 * `npm test`: installs the real programs that tests need, runs the tests, and is stricter than Node: a run without a
 * test fails, and with `CI=true` a skipped or todo test does too.
 *
 *     npm test [-- [--fast] [--limits] [--coverage] [--test-name-pattern=PATTERN] [file or folder …]]
 *
 * `--limits` (`npm run test:limits`) runs the other suite: what the program costs (`*.limits.ts`), one file after another.
 * `--fast` (`npm run test:fast`) excludes tests that need a real program or take long; `--coverage` measures the
 * coverage of `src/` and fails if it is below the minimum. A file of `test/e2e` that fails is run once more, alone, after all
 * others: real clusters have bad moments. If it passes then, the run is green, and its last lines name the file.
 */
import { parseArgs } from 'node:util';
import { ensureLinters } from '../test/deploy/linters.ts';
import { lendMain } from '../test/e2e/built-main.ts';
import { celeryFlavours } from '../test/real/celery.ts';
import { lendCelery } from '../test/real/celery-forks.ts';
import { ensureNewestCelery, ensureRealParts, partVersions } from '../test/real/install.ts';
import { lendRabbitmq } from '../test/real/lent-rabbitmq.ts';
import { SEED } from '../test/seed.ts';
import { ensureOtelcol } from './otelcol.ts';
import { figureTable } from './test-figures.ts';
import { areServersShared, filesFor, isMainShared } from './test-files.ts';
import { type RunOptions, type RunOutcome, runTests } from './test-run.ts';

const AGAIN = /(?:^|\/)e2e\//u;

/** @returns whether all is well */
async function runAll(files: readonly string[], options: RunOptions): Promise<boolean> {
  const first = await runTests(files, options);
  if (first.wasStopped) return false;
  const { failures } = first.verdict;
  const again = options.pace === 'mixed' ? [...failures.keys()].filter((file) => AGAIN.test(file)) : [];
  const mayPass = failures.size > 0 && again.length === failures.size;
  let isWell = failures.size === 0;
  if (mayPass) {
    process.stdout.write(`\nOnce more, alone: ${again.join(', ')}\n`);
    const second = await runTests(again, { ...options, pace: 'one', coverage: false });
    isWell = !second.wasStopped && second.verdict.failures.size === 0 && report(second, options);
  }
  isWell = report(first, options) && isWell;
  for (const [file, failure] of mayPass ? failures : [])
    process.stdout.write(`${isWell ? 'Passed when run once more' : 'Failed'}: ${file}, ${failure}\n`);
  return isWell;
}

/** Prints what follows the tests. @returns whether nothing is wrong but tests that failed */
function report({ verdict, covered, figures }: RunOutcome, { patterns }: RunOptions): boolean {
  process.stdout.write(covered.text);
  if (figures.length > 0) process.stdout.write(`\n${figureTable(figures)}`);
  const strict = process.env['CI'] === 'true';
  const flaws = [...verdict.sentences({ strict, filtered: patterns.length > 0 }), ...covered.flaws];
  for (const flaw of flaws) process.stderr.write(`✖ ${flaw}\n`);
  return flaws.length === 0;
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
    ensureLinters();
    process.stdout.write(`${partVersions(ensureNewestCelery(), ensureOtelcol())}\n`);
  }
  process.stdout.write(`Property tests: SEED=${SEED}\n`);
  const suite = limits ? 'limits' : fast ? 'fast' : 'all';
  const files = filesFor(positionals.length > 0 ? positionals : ['test'], suite);
  const areLent = !fast && areServersShared(files);
  const pace = limits ? 'alone' : fast ? 'fast' : 'mixed';
  const lent: { remove(): unknown }[] = [];
  try {
    // What does not compile is not worth a Python, and without one there is no need of a broker.
    if (!fast && isMainShared(files)) lent.push(await lendMain());
    if (areLent) lent.push(await lendCelery(celeryFlavours().map(({ python }) => python)));
    const rabbitmq = areLent ? await lendRabbitmq() : undefined;
    if (rabbitmq !== undefined) lent.push(rabbitmq);
    const [isWell] = await Promise.all([runAll(files, { pace, coverage, patterns }), rabbitmq?.started]);
    if (!isWell) process.exitCode ??= 1;
  } finally {
    await Promise.all(lent.map((each) => each.remove()));
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
