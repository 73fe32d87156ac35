/** Which test files run where: each in one process, and no list names a file that is not there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesFor, LISTS, processesFor } from '../../scripts/test-files.ts';

const ALL = filesFor(['test'], 'all');

test('each file is in one process, and those that measure or wait have one of their own', () => {
  const processes = processesFor(ALL);
  assert.deepEqual(processes.flat().sort(), ALL.toSorted());
  const sizeOf = (file: string) => processes.find((files) => files.includes(file))?.length ?? 0;
  for (const file of [
    'test/e2e/check.test.ts',
    'test/cluster/successors.property.test.ts',
    'test/celery/expansion.test.ts',
  ])
    assert.equal(sizeOf(file), 1, file);
  assert.ok(sizeOf('test/text/errors.test.ts') > 1);
  assert.ok(Math.max(...processes.map((files) => files.length)) <= 20);
});

test('one file alone runs as it is', () => {
  assert.deepEqual(processesFor(['test/text/errors.test.ts']), [['test/text/errors.test.ts']]);
});

test('tests of costs are a suite of their own, each file in a process of its own', () => {
  const limits = filesFor(['test'], 'limits');
  assert.ok(limits.length > 10 && limits.every((file) => file.endsWith('.limits.ts')));
  assert.ok(!ALL.some((file) => limits.includes(file)));
  assert.ok(processesFor(limits).every((files) => files.length === 1));
});

test('every beginning in a list is that of a file', () => {
  for (const [list, beginnings] of Object.entries(LISTS)) {
    const unused = beginnings.filter((beginning) => !ALL.some((file) => file.startsWith(beginning)));
    assert.deepEqual(unused, [], list);
  }
});

test('the fast files are those that no list excludes', () => {
  const fast = filesFor(['test'], 'fast');
  assert.ok(fast.includes('test/text/errors.test.ts'));
  assert.ok(!fast.some((file) => file.startsWith('test/e2e/')));
});
