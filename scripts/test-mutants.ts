/**
 * `npm run test:mutants`: breaks a copy of the source in one place after the other (`test/mutants.ts`), and fails if the tests of
 * a break stay green. It never changes the working copy.
 *
 *     npm run test:mutants [-- WORD …]     only the breaks whose rule has all words
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MUTANTS, type Mutant } from '../test/mutants.ts';
import { ROOT } from './test-files.ts';

/** Not copied: too large, or linked. */
const APART: readonly string[] = ['.git', '.cache', 'node_modules', 'dist'];
const TESTS_MS_MAX = 10 * 60_000;

const words = process.argv.slice(2);
const chosen = MUTANTS.filter(({ rule }) => words.every((word) => rule.includes(word)));
const copy = mkdtempSync(path.join(tmpdir(), 'celery-otel-mutants-'));
try {
  cpSync(ROOT, copy, { recursive: true, filter: (from) => !APART.includes(path.relative(ROOT, from)) });
  for (const folder of ['node_modules', '.cache'])
    symlinkSync(path.join(ROOT, folder), path.join(copy, folder));
  const whole = failuresOf([...new Set(chosen.flatMap(({ tests }) => tests))]);
  if (whole !== 0) throw new Error(`without any break, ${whole ?? 'an unknown number of'} tests fail`);
  const survivors = chosen.filter((mutant) => !isKilled(mutant));
  print(`${chosen.length - survivors.length} of ${chosen.length} breaks were noticed\n`);
  if (survivors.length > 0 || chosen.length === 0) process.exitCode = 1;
} finally {
  rmSync(copy, { recursive: true });
}

function isKilled({ rule, file, from, to, tests }: Mutant): boolean {
  const broken = path.join(copy, 'src', file);
  const text = readFileSync(broken, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`src/${file} does not have this once: ${from}`);
  writeFileSync(
    broken,
    text.replace(from, () => to),
  );
  const failures = failuresOf(tests);
  writeFileSync(broken, text);
  // A break may also keep the tests from ending.
  const isNoticed = failures !== 0;
  print(
    `${isNoticed ? '✔' : '✖'} ${rule}: ${failures === undefined ? 'the tests do not end' : `${failures} tests fail`}\n`,
  );
  return isNoticed;
}

/** How many tests fail; undefined if they do not come to their end. */
function failuresOf(tests: readonly string[]): number | undefined {
  const files = tests.map((each) => `test/${each}`);
  const { stdout } = spawnSync(process.execPath, ['scripts/test.ts', '--fast', ...files], {
    cwd: copy,
    encoding: 'utf8',
    timeout: TESTS_MS_MAX,
    maxBuffer: 256 * 1024 * 1024,
  });
  const count = /^ℹ fail (\d+)$/mu.exec(stdout)?.[1];
  return count === undefined ? undefined : Number(count);
}

/** Writes at once: while tests run, this process does nothing else. */
function print(text: string): void {
  writeSync(process.stdout.fd, text);
}
