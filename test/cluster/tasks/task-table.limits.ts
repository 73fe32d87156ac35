/** What it costs to find tasks, also where a sender chooses their ids. */
import { test } from 'node:test';
import { TaskTable } from '../../../src/cluster/tasks/task-table.ts';
import { bound } from '../../bound.ts';

const TASKS = 20_000;
const RATIO_MAX = 10;
/** For any ids: so little is not worth a comparison. */
const SPARED_MS = 20;

/** Median CPU time in ms to look up each of the uuids. */
function lookupMs(uuidOf: (index: number) => string): number {
  const times = Array.from({ length: 3 }, () => {
    const table = new TaskTable(TASKS);
    const before = process.cpuUsage();
    for (let index = 0; index < TASKS; index += 1) table.task(uuidOf(index), 0);
    return process.cpuUsage(before).user / 1000;
  });
  return times.sort((a, b) => a - b)[1] ?? Number.NaN;
}

test('decimal uuids with the same low bits cost no more to look up than others', (t) => {
  const otherMs = lookupMs((index) => `task-${index}`);
  const decimalMs = lookupMs((index) => String(1_000_013_824 + index * 65_536));
  const max = RATIO_MAX * otherMs + SPARED_MS;
  bound(t, `look-ups of ${TASKS} tasks with chosen ids`, decimalMs, max, 'ms');
});
