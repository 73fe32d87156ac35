/** The terminal has the columns of the page: each list is written for its own place, and must not forget what the other has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as page from '../../page/columns.js';
import * as terminal from '../../src/top/columns.ts';

const labels = (columns: readonly { readonly label: string }[]): readonly string[] =>
  columns.map(({ label }) => label).sort();

test('tasks, queues, workers and exports have the same columns', () => {
  assert.deepEqual(labels(terminal.TASK_RATES), labels(page.TASKS));
  assert.deepEqual(labels(terminal.QUEUES), labels(page.QUEUES));
  assert.deepEqual(labels(terminal.WORKERS), labels(page.WORKERS));
  assert.deepEqual(labels(terminal.EXPORTS), labels(page.EXPORTS));
});
