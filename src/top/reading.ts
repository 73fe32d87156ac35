/**
 * Reads status documents of another instance. They are untrusted: a missing field, or one of the wrong type, counts as
 * unknown; texts are made printable, and lists are bounded. Pure.
 */

import type { FoundTask, TreeRow } from '../health/details.ts';
import type { QueueRow } from '../health/queue-rows.ts';
import type { Listed, TaskRow, WorkerRow } from '../health/service-document.ts';
import type { StatusExport } from '../health/status-document.ts';
import { printable } from '../text/printable.ts';
import type { ServiceDetails, ServiceStatus, StatusSnapshot } from '../view/snapshot.ts';

const ROWS_MAX = 10_000;
const CHARS_MAX = 2000;
/** Limits of lists within one cell or line, far above what celery-otel sends. */
const ERRORS_MAX = 10;
const REASONS_MAX = 100;
const DEPTH_MAX = 20;
const VERSION = 1;

/** @returns undefined if the text is not a status document */
export function readStatus(text: string): StatusSnapshot | undefined {
  const document = parsed(text);
  if (document === undefined || !Array.isArray(at(document, 'services'))) return undefined;
  return {
    time: string(document, 'time'),
    grade: oneOf(GRADES, at(document, 'grade')),
    summary: string(document, 'summary'),
    problems: list(document, 'problems', problem),
    exports: list(document, 'exports', exported),
    services: list(document, 'services', service),
  };
}

/** @returns undefined if the text is not a document of a service */
export function readDetails(text: string): ServiceDetails | undefined {
  const document = parsed(text);
  if (document === undefined || !Array.isArray(at(at(document, 'tasks'), 'rows'))) return undefined;
  const events = at(document, 'events');
  const others = at(document, 'other_tasks');
  return {
    recent_s: numeric(document, 'recent_s'),
    events: {
      step_s: numeric(events, 'step_s') || 1,
      counts: list(events, 'counts', (it) => finite(it) ?? 0),
    },
    // The terminal does not show the series.
    series: null,
    tasks: listed(document, 'tasks', task),
    other_tasks: others === null || others === undefined ? null : task(others),
    workers: listed(document, 'workers', worker),
    queues: listed(document, 'queues', queue),
  };
}

/** What is drawn of a task that was found by its id. */
export type FoundTree = Pick<FoundTask, 'service' | 'tree' | 'tree_total'> & { readonly open: number };

/** @returns undefined if the text is not a document of what was found */
export function readFound(text: string): readonly FoundTree[] | undefined {
  const document = parsed(text);
  if (document === undefined || !Array.isArray(at(document, 'found'))) return undefined;
  return list(document, 'found', (it) => ({
    service: string(it, 'service'),
    tree: list(it, 'tree', treeRow),
    tree_total: numeric(it, 'tree_total'),
    open: list(it, 'open', () => true).length,
  }));
}

function treeRow(it: unknown): TreeRow {
  const time = (key: string): string | null => string(it, key) || null;
  return {
    ...{ id: string(it, 'id'), task: string(it, 'task'), worker: string(it, 'worker') },
    ...{ outcome: string(it, 'outcome'), error_type: string(it, 'error_type') },
    ...{ retries: numeric(it, 'retries'), depth: Math.min(Math.max(0, numeric(it, 'depth')), DEPTH_MAX) },
    ...{ from: time('from'), started: time('started'), ended: time('ended') },
  };
}

function parsed(text: string): unknown {
  try {
    const document: unknown = JSON.parse(text);
    return at(document, 'version') === VERSION ? document : undefined;
  } catch {
    return undefined;
  }
}

function problem(it: unknown): StatusSnapshot['problems'][number] {
  return {
    services: list(it, 'services', (name) =>
      typeof name === 'string' ? printable(name.slice(0, CHARS_MAX)) : '',
    ),
    service_count: numeric(it, 'service_count'),
    grade: oneOf(PROBLEM_GRADES, at(it, 'grade')),
    ...{ line: string(it, 'line'), since: string(it, 'since') },
    ...{ remedy: string(it, 'remedy'), runbook: string(it, 'runbook') },
  };
}

/** The first value stands for unknown ones, such as those of another version: never `fine`. */
const GRADES = ['unknown', 'fine', 'degraded', 'down'] as const;
const PROBLEM_GRADES = ['degraded', 'down'] as const;
const PHASES = ['waiting', 'listening', 'stopped', 'finished', 'unusable'] as const;
const OUTCOMES = ['success', 'partial', 'failure'] as const;
const SIGNALS = ['metrics', 'traces', 'logs'] as const;

function service(it: unknown): ServiceStatus {
  const [events, workers, queues] = [at(it, 'events'), at(it, 'workers'), at(it, 'queues')];
  const tasks = at(it, 'tasks');
  return {
    name: string(it, 'name'),
    details: string(it, 'details'),
    phase: oneOf(PHASES, at(it, 'phase')),
    grade: oneOf(GRADES, at(it, 'grade')),
    as_of: stringOrNull(it, 'as_of'),
    broker: stringOrNull(it, 'broker'),
    events: {
      received: numeric(events, 'received'),
      per_second: numeric(events, 'per_second'),
      lag_s: finite(at(events, 'lag_s')),
      dropped: counts(at(events, 'dropped')),
    },
    workers:
      workers === null || workers === undefined
        ? null
        : {
            known: numeric(workers, 'known'),
            up: numeric(workers, 'up'),
            deaf: numeric(workers, 'deaf'),
            active: numeric(workers, 'active'),
          },
    queues:
      queues === null || queues === undefined
        ? null
        : {
            polled: numeric(queues, 'polled'),
            waiting: numeric(queues, 'waiting'),
            age_s: numeric(queues, 'age_s'),
          },
    tasks:
      tasks === null || tasks === undefined
        ? null
        : { failed: numeric(tasks, 'failed'), lost: numeric(tasks, 'lost') },
    exports: list(it, 'exports', exported),
    instances: finite(at(it, 'instances')),
    defects: numeric(it, 'defects'),
    unknown: list(it, 'unknown', (each) => ({ line: string(each, 'line') })),
  };
}

function exported(it: unknown): StatusExport {
  return {
    signal: oneOf(SIGNALS, at(it, 'signal')),
    backend: string(it, 'backend'),
    outcome: oneOf(OUTCOMES, at(it, 'outcome')),
    reason: string(it, 'reason'),
    age_s: numeric(it, 'age_s'),
    items: numeric(it, 'items'),
    failures: numeric(it, 'failures'),
    success_age_s: finite(at(it, 'success_age_s')),
  };
}

function task(it: unknown): TaskRow {
  return {
    name: string(it, 'name'),
    running: finite(at(it, 'running')),
    recent: steps(at(it, 'recent')),
    total: steps(at(it, 'total')),
    open: numeric(it, 'open'),
    failure_ratio: finite(at(it, 'failure_ratio')),
    runtime_p50_s: finite(at(it, 'runtime_p50_s')),
    runtime_p95_s: finite(at(it, 'runtime_p95_s')),
    errors: list(it, 'errors', exception, ERRORS_MAX),
    seen_s: numeric(it, 'seen_s'),
  };
}

function exception(it: unknown): TaskRow['errors'][number] {
  return { type: string(it, 'type'), count: numeric(it, 'count') };
}

function steps(it: unknown): TaskRow['total'] {
  return {
    ...{
      started: numeric(it, 'started'),
      succeeded: numeric(it, 'succeeded'),
      failed: numeric(it, 'failed'),
    },
    ...{
      retried: numeric(it, 'retried'),
      rejected: numeric(it, 'rejected'),
      revoked: numeric(it, 'revoked'),
    },
    cancelled: numeric(it, 'cancelled'),
    lost: numeric(it, 'lost'),
  };
}

function worker(it: unknown): WorkerRow {
  return {
    name: string(it, 'name'),
    up: at(it, 'up') === true,
    left: at(it, 'left') === true,
    deaf: at(it, 'deaf') === true,
    pool: stringOrNull(it, 'pool'),
    running: finite(at(it, 'running')),
    slots: finite(at(it, 'slots')),
    prefetched: numeric(it, 'prefetched'),
    scheduled: numeric(it, 'scheduled'),
    seen_s: numeric(it, 'seen_s'),
    celery: stringOrNull(it, 'celery'),
  };
}

function queue(it: unknown): QueueRow {
  const value = (key: keyof QueueRow): number | null => finite(at(it, key));
  return {
    name: string(it, 'name'),
    length: value('length'),
    consumers: value('consumers'),
    slots: value('slots'),
    unacked: value('unacked'),
    waiting_age_s: value('waiting_age_s'),
    running_age_s: value('running_age_s'),
    wait_p95_s: value('wait_p95_s'),
  };
}

function at(holder: unknown, key: string): unknown {
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key)
    ? Reflect.get(holder, key)
    : undefined;
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function numeric(holder: unknown, key: string): number {
  return finite(at(holder, key)) ?? 0;
}

function string(holder: unknown, key: string): string {
  return stringOrNull(holder, key) ?? '';
}

function stringOrNull(holder: unknown, key: string): string | null {
  const value = at(holder, key);
  return typeof value === 'string' ? printable(value.slice(0, CHARS_MAX)) : null;
}

function oneOf<Value extends string>(
  [first, ...others]: readonly [Value, ...Value[]],
  value: unknown,
): Value {
  return others.find((each) => each === value) ?? first;
}

function counts(it: unknown): Readonly<Record<string, number>> {
  const entries = typeof it === 'object' && it !== null ? Object.entries(it).slice(0, REASONS_MAX) : [];
  return Object.fromEntries(
    entries.map(([key, count]) => [printable(key.slice(0, CHARS_MAX)), finite(count) ?? 0]),
  );
}

function list<Row>(
  holder: unknown,
  key: string,
  read: (it: unknown) => Row,
  max: number = ROWS_MAX,
): readonly Row[] {
  const items: unknown = at(holder, key);
  return Array.isArray(items) ? items.slice(0, max).map((it: unknown) => read(it)) : [];
}

function listed<Row>(document: unknown, key: string, read: (it: unknown) => Row): Listed<Row> {
  const holder = at(document, key);
  const rows = list(holder, 'rows', read);
  return { total: Math.max(rows.length, numeric(holder, 'total')), rows };
}
