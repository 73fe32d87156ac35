/** All dashboards, by the name of their file. It writes none of them: a test compares them, or rewrites them. */
import { BRIDGE } from './bridge.ts';
import { OVERVIEW } from './overview.ts';
import type { DashboardTable } from './panel-table.ts';
import { TASK_DASHBOARD } from './task.ts';
import { WORKERS_AND_QUEUES } from './workers-and-queues.ts';

export const DASHBOARDS: Readonly<Record<string, DashboardTable>> = {
  'overview.json': OVERVIEW,
  'task.json': TASK_DASHBOARD,
  'workers-and-queues.json': WORKERS_AND_QUEUES,
  'bridge.json': BRIDGE,
};
