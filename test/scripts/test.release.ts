/** The test runner is strict: tests that did not run do not count as passed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';

const RUNNER = path.resolve(import.meta.dirname, '../../scripts/test.ts');
const PASSING = `test('passes', () => {});`;

interface Run {
  readonly code: number | null;
  readonly output: string;
}

/** Runs the test runner over a folder with one file per text. */
function runOver(t: TestContext, texts: readonly string[], ci: boolean, ...args: string[]): Promise<Run> {
  return runIn(t, texts, { ci, args });
}

interface Settings {
  readonly ci: boolean;
  readonly args?: readonly string[];
  readonly inner?: string;
  readonly ending?: string;
  readonly slowness?: string;
}

async function runIn(
  t: TestContext,
  texts: readonly string[],
  { ci, args = [], inner = 'inner', ending = 'test', slowness = '1' }: Settings,
): Promise<Run> {
  const folder = mkdtempSync(path.join(tmpdir(), 'runner-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, inner));
  texts.forEach((text, index) => {
    writeFileSync(
      path.join(folder, `${inner}/${index}.${ending}.ts`),
      `import { test } from 'node:test';\n${text}\n`,
    );
  });
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [RUNNER, folder, ...args], {
    env: { ...env, CI: ci ? 'true' : '', TEST_SLOWNESS: slowness },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, output };
}

test('a run without a failure succeeds, prints the versions of the real programs and ends with the summary', async (t) => {
  const { code, output } = await runOver(t, [PASSING, PASSING], true);
  assert.equal(code, 0, output);
  assert.match(output, /^RabbitMQ \d.*\nRedis \d.*\nCelery \d/);
  assert.match(output, /ℹ tests 2\n.*ℹ pass 2\n.*ℹ fail 0\n.*ℹ skipped 0\n/s);
});

test('a failing test fails the run', async (t) => {
  const { code, output } = await runOver(t, [PASSING, `test('f', () => { throw new Error('no'); });`], false);
  assert.equal(code, 1);
  assert.match(output, /ℹ fail 1\n/);
});

for (const [what, text] of [
  ['skipped', `${PASSING} test('left out', { skip: 'no broker' }, () => {});`],
  ['to do', `${PASSING} test('left out', { todo: true }, () => { throw new Error('later'); });`],
  [
    'skipped inside another',
    `${PASSING} test('outer', async (t) => { await t.test('left out', (u) => u.skip()); });`,
  ],
] as const) {
  test(`a test that is ${what} fails the run with CI=true only`, async (t) => {
    const strict = await runOver(t, [text], true);
    assert.equal(strict.code, 1);
    assert.match(strict.output, /✖ Skipped or todo, which CI=true forbids: left out/);
    const lenient = await runOver(t, [text], false);
    assert.equal(lenient.code, 0, lenient.output);
  });
}

test('a file in which no test runs fails the run', async (t) => {
  const { code, output } = await runOver(t, [PASSING, 'export {};'], false);
  assert.equal(code, 1);
  assert.match(output, /✖ No test ran in .*1\.test\.ts\./);
});

test('a pattern selects tests by name, and one that matches none fails the run', async (t) => {
  const texts = [PASSING, `test('fails', () => { throw new Error('no'); });`];
  assert.equal((await runOver(t, texts, true, '--test-name-pattern=passes')).code, 0);
  const { code, output } = await runOver(t, texts, true, '--test-name-pattern=nothing of that name');
  assert.equal(code, 1);
  assert.match(output, /✖ No test ran\./);
});

test('a folder without tests, a missing file and an unknown flag fail the run', async (t) => {
  assert.match((await runOver(t, [], false)).output, /✖ No test ran\./);
  const runs = await Promise.all([
    runOver(t, [], false),
    runOver(t, [PASSING], false, 'nowhere.test.ts'),
    runOver(t, [PASSING], false, '--watch-out'),
  ]);
  assert.deepEqual(
    runs.map((run) => run.code !== 0),
    [true, true, true],
  );
});

/** A program that is killed while it writes its coverage leaves half a file, with which Node reports nothing. */
const STARTS_A_PROGRAM = `import { execFileSync } from 'node:child_process';
test('a program that a test starts writes no coverage', () => {
  const folder = execFileSync(process.execPath, ['--print', 'process.env.NODE_V8_COVERAGE'], { encoding: 'utf8' });
  if (folder.trim() !== 'undefined') throw new Error(folder);
});`;

test('--coverage prints the coverage of each room, of tests alone, and too little fails the run', async (t) => {
  const source = path.resolve(import.meta.dirname, '../../src/celery/expansion.ts');
  const { code, output } = await runOver(
    t,
    [`import '${source}';\n${PASSING}`, STARTS_A_PROGRAM],
    false,
    '--fast',
    '--coverage',
  );
  assert.equal(code, 1, output);
  assert.match(output, /ℹ pass 2\n/u);
  assert.match(output, /^src\/celery +\d+\.\d % of lines, +\d+\.\d % of branches$/mu);
  assert.match(output, /✖ Coverage of lines is \d+\.\d %, below the minimum/u);
});

/** Fails when it runs for the first time. */
const UNSTEADY = `import { existsSync, writeFileSync } from 'node:fs';
const mark = new URL('mark', import.meta.url);
test('is unsteady', () => {
  const isFirst = !existsSync(mark);
  writeFileSync(mark, '');
  if (isFirst) throw new Error('a bad moment\\nand more');
});`;

test('a file of e2e that fails is run once more, and named at the end if it passes', async (t) => {
  const { code, output } = await runIn(t, [PASSING, UNSTEADY], { ci: true, inner: 'e2e' });
  assert.equal(code, 0, output);
  assert.match(output, /Passed when run once more: \S+e2e\/1\.test\.ts, is unsteady: a bad moment\n$/u);
});

test('a file that fails twice, one that fails elsewhere, and one beside it fail the run', async (t) => {
  const failing = `test('fails', () => { throw new Error('no'); });`;
  const runs = await Promise.all([
    runIn(t, [PASSING, failing], { ci: true, inner: 'e2e' }),
    runOver(t, [UNSTEADY], true),
    runIn(t, [UNSTEADY, failing], { ci: true, inner: 'e2e' }),
  ]);
  assert.deepEqual(
    runs.map(({ code }) => code),
    [1, 1, 1],
  );
  assert.match(runs[0]?.output ?? '', /Failed: \S+e2e\/1\.test\.ts, fails: no\n/u);
});

for (const [what, text] of [
  ['test', `test('hangs', () => new Promise((resolve) => setTimeout(resolve, 60_000)));`],
  [
    'hook of a test',
    `test('hangs', (t) => t.after(() => new Promise((resolve) => setTimeout(resolve, 60_000))));`,
  ],
] as const) {
  test(`a ${what} that does not end is ended, and named`, async (t) => {
    const { code, output } = await runIn(t, [text], { ci: true, slowness: '0.01' });
    assert.equal(code, 1);
    assert.match(output, /hangs: it has not ended within 1200 ms/u);
  });
}

for (const [what, text] of [
  [
    'after an uncaught exception',
    `test('fails', (t) => { t.after(() => new Promise(() => setInterval(() => {}, 1000))); setImmediate(() => { throw new Error('lost'); }); return new Promise(() => {}); });`,
  ],
  [
    'of a suite',
    `describe('s', () => { after(() => new Promise(() => setInterval(() => {}, 1000))); test('passes', () => {}); });`,
  ],
  [
    'before the first test',
    `describe('s', () => { before(() => new Promise(() => setInterval(() => {}, 1000))); test('waits', () => {}); });`,
  ],
] as const)
  test(`a hook ${what} that does not end is ended`, async (t) => {
    const hooks = `import { after, before, describe } from 'node:test'; ${text}`;
    const { code, output } = await runIn(t, [hooks], { ci: true, slowness: '0.01' });
    assert.equal(code, 1);
    assert.match(output, /a hook: it has not ended within 6000 ms/u);
  });

test('figures of costs are printed as a table, in the order of the tests', async (t) => {
  const bound = path.resolve(import.meta.dirname, '../bound.ts');
  const text = `import { bound } from '${bound}';
test('a', (t) => bound(t, 'memory of a task', 99.4, 100, 'bytes'));
test('b', (t) => bound(t, 'time', 1.26, 1.2, 'ms'));`;
  const { code, output } = await runIn(t, [text], { ci: true, args: ['--limits'], ending: 'limits' });
  assert.equal(code, 1);
  assert.match(
    output,
    /promise +figure +bound\nmemory of a task +99\.4 bytes +100 bytes\ntime +1\.26 ms +1\.2 ms ✖\n/u,
  );
});

test('a test that ends its process fails the run, and what comes after it is missed', async (t) => {
  const ending = `test('ends', () => process.exit(0));`;
  const after = `test('is missed', () => {});`;
  const alone = await runOver(t, [`${PASSING} ${ending} ${after}`], true);
  assert.equal(alone.code, 1, alone.output);
  const among = await runOver(t, [PASSING, ending, after], true);
  assert.equal(among.code, 1, among.output);
  assert.match(among.output, /Nothing was reported of \S+2\.test\.ts/u);
});

test('a file that does not end is run once more as well, and a skip there fails the run', async (t) => {
  const mark = `import { existsSync, writeFileSync } from 'node:fs';
const mark = new URL('mark', import.meta.url);
const isFirst = !existsSync(mark);
writeFileSync(mark, '');`;
  const hanging = `${mark} test('hangs', () => new Promise((go) => setTimeout(go, isFirst ? 60_000 : 0)));`;
  const skipping = `${mark} test('skips', { skip: !isFirst }, () => { throw new Error('no'); });`;
  const [hung, skipped] = await Promise.all([
    runIn(t, [hanging], { ci: true, inner: 'e2e', slowness: '0.02' }),
    runIn(t, [skipping], { ci: true, inner: 'e2e' }),
  ]);
  assert.equal(hung.code, 0, hung.output);
  assert.equal(skipped.code, 1, skipped.output);
});
