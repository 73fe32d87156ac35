/**
 * The output of the example shop after its orders: Celery's own report on every task, and the counts of events that
 * follow from it. It is independent of celery-otel.
 */
import { type CeleryFlavour, type Cluster, runPython } from './celery.ts';

export type Counts = Readonly<Record<string, number>>;

/** One task name. */
export interface TaskReport {
  /** The number of task ids. */
  readonly ids: number;
  /** Final state in the result backend → how many ids. */
  readonly states: Counts;
  /** Class of the exception of those in state FAILURE → how many ids. */
  readonly errors: Counts;
  /** Reason → number of retries, of all ids. */
  readonly retries: Counts;
}

/** The document that `place_orders.py` prints. */
export interface ShopReport {
  readonly celery: string;
  readonly orders: number;
  /** Task name → its report. */
  readonly tasks: Readonly<Record<string, TaskReport>>;
  /** Task name → `rejected`, `ignored` or `expired` → how many ids; Celery stores no final result for these. */
  readonly shop_says: Readonly<Record<string, Counts>>;
  /** Nodename → task name → runs since the worker started, of the workers alive at the end (`inspect stats`). */
  readonly workers: Readonly<Record<string, Counts>>;
}

/**
 * How often each event must occur for one task name, over all workers, if no worker leaves: tasks held by a leaving
 * worker are received again by another one, or expire in the broker.
 */
export interface EventCounts {
  readonly sent: number;
  readonly received: number;
  /** By `inspect stats`: without the runs of workers that have left. */
  readonly started: number;
  readonly succeeded: number;
  readonly failed: Counts;
  readonly retried: Counts;
  readonly revoked: number;
  readonly rejected: number;
}

export interface OrdersOptions extends Cluster {
  readonly flavour: CeleryFlavour;
  readonly orders: number;
  readonly seed?: number;
  /** Evenly distributed over this many seconds; default: no pause. */
  readonly seconds?: number;
  /** Only orders of this kind of `place_orders.py`. */
  readonly only?: string;
  /** Time to wait for the last result, seconds. */
  readonly timeoutS?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly folder?: string;
}

/** Places orders, waits until all have ended and returns Celery's report. Rejects if the script fails. */
export async function placeOrders(options: OrdersOptions): Promise<ShopReport> {
  const { orders, seed = 1, seconds = 0, only, timeoutS = 60, env, folder } = options;
  const args = ['--orders', orders, '--seed', seed, '--seconds', seconds, '--timeout', timeoutS].map(String);
  if (only !== undefined) args.push('--only', only);
  const document = await runPython(options.flavour, 'place_orders.py', args, options, {
    ...(env === undefined ? {} : { env }),
    ...(folder === undefined ? {} : { folder }),
  });
  return readShopReport(document);
}

/** Checks the parsed JSON document; throws with the path of an invalid value. */
export function readShopReport(document: unknown): ShopReport {
  const report = record(document, 'report');
  return {
    celery: String(report['celery']),
    orders: number(report['orders'], 'orders'),
    tasks: mapped(report['tasks'], 'tasks', (value, path) => {
      const task = record(value, path);
      return {
        ids: number(task['ids'], `${path}.ids`),
        states: counts(task['states'], `${path}.states`),
        errors: counts(task['errors'], `${path}.errors`),
        retries: counts(task['retries'], `${path}.retries`),
      };
    }),
    shop_says: mapped(report['shop_says'], 'shop_says', counts),
    workers: mapped(report['workers'], 'workers', counts),
  };
}

/** Task name → how often each of its events must occur, by Celery's report. */
export function eventCounts(report: ShopReport): Readonly<Record<string, EventCounts>> {
  return Object.fromEntries(
    Object.entries(report.tasks).map(([name, task]) => [name, eventCountsOf(name, task, report)]),
  );
}

/** Two runs of orders on one cluster, in one report; the workers' totals are those of the later one. */
export function joinReports(earlier: ShopReport, later: ShopReport): ShopReport {
  const names = new Set([...Object.keys(earlier.tasks), ...Object.keys(later.tasks)]);
  const none: TaskReport = { ids: 0, states: {}, errors: {}, retries: {} };
  const tasks = [...names].sort().map((name): [string, TaskReport] => {
    const [a, b] = [earlier.tasks[name] ?? none, later.tasks[name] ?? none];
    return [
      name,
      {
        ids: a.ids + b.ids,
        states: added(a.states, b.states),
        errors: added(a.errors, b.errors),
        retries: added(a.retries, b.retries),
      },
    ];
  });
  const said = [...names].map((name): [string, Counts] => [
    name,
    added(earlier.shop_says[name] ?? {}, later.shop_says[name] ?? {}),
  ]);
  return {
    celery: later.celery,
    orders: earlier.orders + later.orders,
    tasks: Object.fromEntries(tasks),
    shop_says: Object.fromEntries(said.filter(([, counted]) => Object.keys(counted).length > 0)),
    workers: later.workers,
  };
}

function eventCountsOf(name: string, task: TaskReport, report: ShopReport): EventCounts {
  // Celery 5.7 stores a rejection as the failure `Reject`; before, it stored nothing.
  const { Reject: _, ...failed } = task.errors;
  const retries = sum(task.retries);
  return {
    sent: task.ids + retries,
    // RabbitMQ drops an expired message silently, so its state stays PENDING.
    received: task.ids + retries - (task.states['PENDING'] ?? 0),
    started: sum(Object.values(report.workers).map((total) => total[name] ?? 0)),
    succeeded: task.states['SUCCESS'] ?? 0,
    failed,
    retried: task.retries,
    revoked: task.states['REVOKED'] ?? 0,
    rejected: report.shop_says[name]?.['rejected'] ?? 0,
  };
}

function sum(numbers: Counts | readonly number[]): number {
  return Object.values(numbers).reduce((total: number, value: number) => total + value, 0);
}

function added(a: Counts, b: Counts): Counts {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...keys].sort().map((key) => [key, (a[key] ?? 0) + (b[key] ?? 0)]));
}

function counts(value: unknown, path: string): Counts {
  return mapped(value, path, number);
}

function mapped<T>(
  value: unknown,
  path: string,
  read: (value: unknown, path: string) => T,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(record(value, path)).map(([key, item]) => [key, read(item, `${path}.${key}`)]),
  );
}

function record(value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${path}: an object was expected, got ${JSON.stringify(value)}`);
  }
  return Object.fromEntries(Object.entries(value));
}

function number(value: unknown, path: string): number {
  if (typeof value !== 'number')
    throw new Error(`${path}: a number was expected, got ${JSON.stringify(value)}`);
  return value;
}
