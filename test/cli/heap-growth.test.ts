import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundHeapGrowth } from '../../src/cli/heap-growth.ts';

const MIB = 2 ** 20;

test('the larger the heap, the less it may grow; V8 is told only what changes', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const percents: string[] = [];
  let usedBytes = 20 * MIB;
  boundHeapGrowth(
    () => usedBytes,
    (flag) => percents.push(flag.replace('--heap-growing-percent=', '')),
  );
  for (const used of [30, 47, 48, 199, 200, 800, 60, 47]) {
    usedBytes = used * MIB;
    t.mock.timers.tick(250);
  }
  assert.deepEqual(percents, ['100', '30', '15', '30', '100']);
});

test('buffers count as well', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const percents: string[] = [];
  const buffer = Buffer.alloc(64 * MIB);
  boundHeapGrowth(undefined, (flag) => percents.push(flag));
  assert.deepEqual(percents, ['--heap-growing-percent=30'], `${buffer.length}`);
});
