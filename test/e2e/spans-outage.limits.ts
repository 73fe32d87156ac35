/**
 * The memory that spans take while no backend takes them. Five minutes at a thousand tasks a second, compressed in time:
 *
 *     TASKS=300000 npm run test:limits -- test/e2e/spans-outage.limits.ts
 */
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { spansOutage } from './spans-outage.ts';

const TASKS = Number(process.env['TASKS'] ?? 20_000);
/** Beyond what the process takes for the metrics of as many tasks. */
const GROWTH_MB_MAX = 120;

test(`spans of ${TASKS} tasks that no backend takes need bounded memory`, async (t) => {
  const bytes = await spansOutage(t, TASKS);
  bound(t, `memory of spans that wait, of ${TASKS} tasks`, bytes / 1e6, GROWTH_MB_MAX, 'MB');
});
