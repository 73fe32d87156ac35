/** The memory of tasks with long texts, for which traces and logs ask. */
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { floodOfTexts } from '../../cluster/flood-of-texts.ts';
import { heapBytes } from '../../otlp/collect/memory.ts';

/** What the tables themselves and the caches take. */
const BESIDE_MB = 10;

test('a flood of tasks with long ids and arguments fills no memory', (t) => {
  const before = heapBytes();
  const on = floodOfTexts(10_000);
  const { tasks, reordering_window: held } = on.cluster.tables();
  const grown = heapBytes() - before;
  const accountedMb = (tasks.bytes + held.bytes) / 1e6;
  bound(
    t,
    'heap of tasks with long texts, beyond what is accounted',
    grown / 1e6 - accountedMb,
    BESIDE_MB,
    'MB',
  );
});
