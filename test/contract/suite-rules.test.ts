/** No file of `npm test` judges the machine, so that none fails on a busy one. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { judgesMachine, ofFirstSuite } from './suite-rules.ts';

const FOLDER = path.resolve(import.meta.dirname, '..');

/** They name what they look for, or the readings that they replace by their own. */
const RULES = /^(?:contract\/(?:suite-rules|arrows)|self\/process-readings)\./u;

test('no file of npm test reads the processor time or memory of a process, or bounds elapsed real time', () => {
  const files = globSync('**/*.ts', { cwd: FOLDER }).map((file) => ({
    path: file,
    text: readFileSync(path.join(FOLDER, file), 'utf8'),
  }));
  const checked = ofFirstSuite(files).filter((file) => !RULES.test(file.path));
  assert.ok(checked.length > 300, `${checked.length} files`);
  assert.deepEqual(checked.flatMap(judgesMachine), []);
});

for (const [what, text] of [
  ['reads the processor time', 'const { user } = process.cpuUsage();'],
  ['reads the memory', 'await readFile(`/proc/self/status`);'],
  ['bounds an elapsed time', 'assert.ok(performance.now() - beganMs < 5000);'],
  [
    'bounds an elapsed time that has a name',
    'const tookMs = performance.now() - beganMs;\nassert.ok(isWell && tookMs < 300, `too late`);',
  ],
  [
    'bounds an elapsed time in the other order',
    'const tookMs = performance.now() - beganMs;\nassert.ok(isWell && MAX_MS > tookMs);',
  ],
  ['compares an elapsed time in the other order', 'assert.ok(MAX_MS >= performance.now() - beganMs);'],
  [
    'bounds the time between two readings that have names',
    'const beganMs = Date.now();\nconst endMs = Date.now();\nassert.ok(endMs - beganMs < 500);',
  ],
  [
    'bounds a named time between two readings that have names',
    'const endMs = performance.now();\nconst tookMs = endMs - beganMs;\nassert.ok(tookMs < 500);',
  ],
  [
    'bounds an elapsed time from elsewhere',
    'return { result, tookMs: Date.now() - beganMs };\nassert.ok(tookMs <= 9);',
  ],
] as const) {
  test(`a file that ${what} is found`, () => {
    assert.equal(judgesMachine({ path: 'x.test.ts', text }).length, 1);
  });
}

test('a wait with a deadline, and a time that must have passed, are no bounds', () => {
  const text = `const beganMs = performance.now();
    while (!isSo() && performance.now() < endMs) await delay(50);
    const tookMs = performance.now() - beganMs;
    assert.ok(tookMs >= 300);
    assert.ok(point.startMs >= beganMs - 2);
    assert.ok(ended.length > 2, 'later than tookMs');`;
  assert.deepEqual(judgesMachine({ path: 'x.test.ts', text }), []);
});

test('what tests import is checked, and what only tests of costs import is not', () => {
  const files = [
    { path: 'a/x.test.ts', text: "import { y } from '../y.ts';" },
    { path: 'a/x.limits.ts', text: "import { z } from '../z.ts';" },
    { path: 'y.ts', text: '' },
    { path: 'z.ts', text: '' },
  ];
  assert.deepEqual(
    ofFirstSuite(files).map((file) => file.path),
    ['a/x.test.ts', 'y.ts'],
  );
});
