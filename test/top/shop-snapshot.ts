/** What the view shows in its tests: a shop that is well, read from documents as they are sent, and what differs from it. */
import { readDetails, readStatus } from '../../src/top/reading.ts';
import type { Snapshot } from '../../src/view/snapshot.ts';

const COUNTS = {
  started: 0,
  succeeded: 0,
  failed: 0,
  retried: 0,
  rejected: 0,
  revoked: 0,
  cancelled: 0,
  lost: 0,
};

export const taskRow = (name: string, more: object = {}) => ({
  ...{ name, open: 0, running: 0, recent: COUNTS, total: COUNTS, failure_ratio: null, errors: [], seen_s: 1 },
  ...{ runtime_p50_s: null, runtime_p95_s: null },
  ...more,
});

const counts = (started: number, failed: number) => ({
  ...COUNTS,
  started,
  failed,
  succeeded: started - failed,
});

export const TASKS = [
  taskRow('shop.pay', {
    ...{ recent: counts(400, 52), total: counts(4000, 520), failure_ratio: 0.13, open: 3, running: 2 },
    ...{ runtime_p50_s: 0.31, runtime_p95_s: 2, errors: [{ type: 'PaymentRefused', count: 52 }] },
  }),
  taskRow('shop.mail', { recent: counts(900, 3), total: counts(9000, 30), failure_ratio: 0.003 }),
  taskRow('shop.report', { recent: counts(2, 0), total: { ...counts(20, 0), lost: 4 } }),
];

export const STATUS = {
  version: 1,
  time: '2026-11-26T10:00:00.000Z',
  grade: 'fine',
  summary: 'Fine: 1 broker connected, last export 2 s ago.',
  problems: [] as readonly object[],
  exports: [],
  services: [serviceOf('shop')],
};

export function serviceOf(name: string, more: object = {}) {
  return {
    ...{ name, details: '/services/0.json', phase: 'listening', grade: 'fine' },
    ...{ broker: 'amqp://shop:***@rabbit:5672', as_of: null },
    events: { received: 48_210, per_second: 12.4, lag_s: 0.021, dropped: {} },
    workers: { known: 3, up: 2, deaf: 0, active: 4 },
    queues: { polled: 2, waiting: 17, age_s: 1 },
    exports: [
      {
        ...{ signal: 'metrics', backend: 'http://collector:4317 (grpc)', outcome: 'success', reason: '' },
        ...{ age_s: 3, items: 1830, failures: 0, success_age_s: 3 },
      },
    ],
    defects: 0,
    unknown: [],
    ...more,
  };
}

const WORKER = {
  ...{ name: 'celery@web-1', up: true, deaf: false, pool: 'prefork', running: 3, slots: 8 },
  ...{ prefetched: 12, scheduled: 1, seen_s: 1.2, celery: '5.5.3' },
};

export const DETAILS = {
  version: 1,
  recent_s: 600,
  events: { step_s: 10, counts: Array.from({ length: 120 }, (_, step) => 80 + (step % 12) * 5) },
  other_tasks: null,
  tasks: { total: TASKS.length, rows: TASKS },
  workers: {
    total: 3,
    rows: [
      WORKER,
      { ...WORKER, name: 'celery@web-2', running: 1 },
      { ...WORKER, name: 'celery@old', up: false, seen_s: 4000 },
    ],
  },
  queues: {
    total: 2,
    rows: [
      { name: 'orders', length: 17, consumers: 2, slots: 16, unacked: 3, waiting_age_s: 8, running_age_s: 2 },
      { name: 'reports', length: 240, consumers: 0, waiting_age_s: 900, running_age_s: 0 },
    ],
  },
};

export function snapshotOf(status: object = STATUS, details: object = DETAILS): Snapshot {
  const read = readDetails(JSON.stringify(details));
  return {
    status: readStatus(JSON.stringify(status)),
    details: new Map(read === undefined ? [] : [[0, read]]),
    unreachable: undefined,
  };
}
