import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportRequests } from '../../../src/otlp/export/export-request.ts';
import { numbered, numbersIn } from './numbered.ts';

const MIB = 1024 * 1024;

test('items of any signal are in requests of so many, and a request that arrived settles its own', () => {
  const [one, other] = [numbered(5), numbered(2)];
  const requests = exportRequests([one, other], numbersIn, 3);
  assert.deepEqual(
    requests.map(({ items, data }) => [items, data()]),
    [
      [3, [0, 1, 2]],
      [3, [3, 4, 0]],
      [1, [1]],
    ],
  );
  requests[1]?.acknowledge();
  assert.deepEqual([one.settled, other.settled], [[3, 4], [0]]);
});

test('an item that is large has a request of its own', () => {
  const requests = exportRequests([numbered(4, (item) => (item === 1 ? 5 * MIB : 1))], numbersIn);
  assert.deepEqual(
    requests.map(({ data }) => data()),
    [[0], [1], [2, 3]],
  );
});

test('the parts of a request are requests of fewer items', () => {
  const [request] = exportRequests([numbered(5)], numbersIn);
  assert.deepEqual(
    request?.parts(2).map(({ data }) => data()),
    [[0, 1], [2, 3], [4]],
  );
});
