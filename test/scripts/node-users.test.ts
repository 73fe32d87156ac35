/** Which tests the oldest Node runs too: those of code that uses Node’s own modules, directly or not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reachesNode } from '../../scripts/node-users.mjs';
import { filesFor, ROOT } from '../../scripts/test-files.ts';

test('tests of code that reaches a module of Node are found, and those of pure code are not', () => {
  const users = filesFor(['test'], 'fast').filter((file) => reachesNode(file, ROOT));
  for (const file of [
    'test/broker/amqp/bodies',
    'test/config/options',
    'test/otlp/batch-export',
    'test/cli/main',
  ])
    assert.ok(users.includes(`${file}.test.ts`), file);
  for (const file of [
    'test/cluster/tasks/task-table',
    'test/cluster/successors.property',
    'test/text/wildcard',
  ])
    assert.ok(!users.includes(`${file}.test.ts`), file);
});
