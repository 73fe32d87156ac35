/** The documents of single rows and ids in the scenes of the tests: a task that fails, its queue, its worker, and a workflow. */
import type {
  FailureRow,
  FoundDocument,
  FoundTask,
  OpenRow,
  QueueDocument,
  RowDocument,
  RunRow,
  TaskDocument,
  TreeRow,
  WorkerDocument,
} from '../../src/health/details.ts';
import type { RowPath } from '../../src/health/status-server.ts';

export const FAILED_ID = '5f1c0a42-6d1b-4c0e-9f57-2b8f0e3d9a11';
/** So many failures came after it that its texts are not kept. */
export const OLD_FAILED_ID = '0d8f1c7e-52a4-4f7b-8a43-6c1e5b9d2f30';
export const RAISING = '  File "/app/shop/gateway.py", line 41, in amount_of';
const LIMIT = 10_000;
const MINUTES = 60;
const MINUTE_MS = 60_000;
const remembered = { runs: 3108, limit: LIMIT };

const TRACE = [
  'Traceback (most recent call last):',
  '  File "/venv/lib/python3.12/site-packages/celery/app/trace.py", line 453, in trace_task',
  '    R = retval = fun(*args, **kwargs)',
  '  File "/venv/lib/python3.12/site-packages/celery/app/trace.py", line 736, in __protected_call__',
  '    return self.run(*args, **kwargs)',
  '  File "/app/shop/payments.py", line 88, in charge_card',
  '    amount = gateway.amount_of(answer)',
  RAISING,
  '    raise PaymentRefused(f"no amount in {answer!r}")',
  "shop.errors.PaymentRefused: no amount in {'status': 'review', 'amount': '', 'api_key': '***'}",
].join('\n');

const isoAt = (ms: number): string => new Date(ms).toISOString();

function idOf(index: number): string {
  return index === 2 ? FAILED_ID : `${(0x1f6be0d9 + index * 7919).toString(16)}-30b1-4f6e-8a55-91c3d2f0a7e4`;
}

function runOf(index: number, nowMs: number, more: Partial<RunRow> = {}): RunRow {
  const ended = nowMs - 1000 - index * 2500;
  const runtime_s = 0.341 + (index % 5) / 10;
  const isFailed = index % 5 === 2;
  return {
    ...{ id: idOf(index), task: 'shop.pay', queue: 'orders', worker: `celery@web-${1 + (index % 2)}` },
    outcome: isFailed ? 'failed' : index % 7 === 3 ? 'retried' : 'succeeded',
    error_type: isFailed ? 'PaymentRefused' : index % 7 === 3 ? 'GatewayBusy' : '',
    ...{ retries: index % 3 === 2 ? 1 : 0, wait_s: index === 4 ? null : 1.6, runtime_s },
    received: isoAt(ended - runtime_s * 1000 - 1600),
    started: isoAt(ended - runtime_s * 1000),
    ended: isoAt(ended),
    ...more,
  };
}

function runs(nowMs: number, more: Partial<RunRow>): readonly RunRow[] {
  return Array.from({ length: 50 }, (_, index) => runOf(index, nowMs, more));
}

function failures(nowMs: number, more: Partial<RunRow>): readonly FailureRow[] {
  const message = "no amount in {'status': 'review', 'amount': '', 'api_key': '***'}";
  return runs(nowMs, more)
    .filter(({ outcome }) => outcome === 'failed')
    .slice(0, 5)
    .map((run, index) => ({
      ...run,
      message: index === 1 ? `<img src=x onerror=alert(1)> ${message}` : message,
      stacktrace: index === 3 ? '' : TRACE,
    }));
}

/** A value a minute: null, where the index is one of the unknown. */
function minutes<Value>(value: (index: number) => Value): readonly Value[] {
  return Array.from({ length: MINUTES }, (_, index) => value(index));
}

function taskDocument(service: string, name: string, nowMs: number): TaskDocument {
  const more = { task: name };
  return {
    ...{ version: 1, time: isoAt(nowMs), service, name, remembered },
    hour: {
      ...{ step_s: 60, since: isoAt(nowMs - MINUTES * MINUTE_MS) },
      succeeded: minutes((index) => 60 + Math.round(12 * Math.sin(index / 6)) - (index > 36 ? 9 : 0)),
      failed: minutes((index) => (index > 36 ? 5 + (index % 4) : index % 9 === 0 ? 1 : 0)),
      retried: minutes((index) => 7 + (index % 5)),
      lost: minutes(() => 0),
      runtime_p50_s: minutes((index) => (index > 10 && index < 14 ? null : 0.4 + (index % 4) / 50)),
      runtime_p95_s: minutes((index) =>
        index > 10 && index < 14 ? null : 1.2 + (index > 36 ? 1 : (index % 5) / 10),
      ),
    },
    ...{ failures: failures(nowMs, more), runs: runs(nowMs, more), queues: [{ name: 'orders', runs: 3108 }] },
    workers: [
      { name: 'celery@web-1', runs: 1570 },
      { name: 'celery@web-2', runs: 1538 },
    ],
  };
}

function queueDocument(service: string, name: string, nowMs: number): QueueDocument {
  return {
    ...{ version: 1, time: isoAt(nowMs), service, name, remembered },
    hour: {
      ...{ step_s: 60, since: isoAt(nowMs - MINUTES * MINUTE_MS) },
      started: minutes((index) => (index > 50 ? 0 : 44 + (index % 6))),
      waiting: minutes((index) => (index > 50 ? 44 * (index - 50) : 12 + (index % 8))),
      oldest_age_s: minutes((index) => (index > 50 ? 60 * (index - 50) : index < 5 ? null : 1.5)),
      wait_p50_s: minutes((index) => (index > 50 ? null : 1.1)),
      wait_p95_s: minutes((index) => (index > 50 ? null : 4 + (index % 3) / 5)),
    },
    consumers: name === 'reports' ? null : name === 'mails' ? [] : ['celery@web-1', 'celery@web-2'],
    runs: runs(nowMs, { queue: name }),
    workers: [
      { name: 'celery@mails-1', runs: 30, exit: { at: isoAt(nowMs - 180_000), reason: 'silence' } },
      { name: 'celery@web-1', runs: 20, exit: { at: isoAt(nowMs - 7_000_000), reason: 'restarted' } },
    ],
  };
}

function openRow(index: number, nowMs: number, more: Partial<OpenRow> = {}): OpenRow {
  const age_s = [754, 41.3, 1.3][index] ?? 0.31;
  return {
    ...{ id: `0be4c55f-30b1-4f6e-8a55-91c3d2f0a7e${index}`, task: 'shop.mail.send_receipt', queue: 'orders' },
    ...{ worker: 'celery@web-1', stage: 'running', retries: 0, since: isoAt(nowMs - age_s * 1000), age_s },
    ...more,
  };
}

function workerDocument(service: string, name: string, nowMs: number): WorkerDocument {
  const rows = [0, 1, 2].map((index) => openRow(index, nowMs, { worker: name }));
  return {
    ...{ version: 1, time: isoAt(nowMs), service, name, remembered },
    ...{ running: { total: rows.length, rows }, queues: ['mails', 'orders'] },
    exits: [
      { at: isoAt(nowMs - 7_000_000), reason: 'silence' },
      { at: isoAt(nowMs - 170_000_000), reason: 'goodbye' },
    ],
    runs: runs(nowMs, { worker: name }),
  };
}

function treeRows(nowMs: number): readonly TreeRow[] {
  const begin = nowMs - 20_000;
  const rows: readonly (readonly [
    task: string,
    depth: number,
    from: number,
    ran: number,
    to: number | null,
    outcome: string,
  ])[] = [
    ['shop.check_stock', 0, 0, 0.04, 0.1, 'succeeded'],
    ['shop.price_item', 1, 0.1, 0.4, 0.6, 'succeeded'],
    ['shop.total_basket', 2, 0.6, 0.7, 0.8, 'succeeded'],
    ['shop.pay', 3, 0.8, 0.9, 2.1, 'retried'],
    ['shop.pay', 3, 6.1, 6.2, 6.5, 'failed'],
    ['shop.release_stock', 4, 6.6, 6.7, null, 'unknown'],
  ];
  return rows.map(([task, depth, from, ran, to, outcome], index) => ({
    ...{ id: task === 'shop.pay' ? FAILED_ID : idOf(index + 100), task, worker: 'celery@web-1', outcome },
    error_type: outcome === 'failed' ? 'PaymentRefused' : outcome === 'retried' ? 'GatewayBusy' : '',
    ...{ retries: outcome === 'failed' ? 1 : 0, depth, from: isoAt(begin + from * 1000) },
    started: isoAt(begin + ran * 1000),
    ended: to === null ? null : isoAt(begin + to * 1000),
  }));
}

function foundTask(service: string, nowMs: number): FoundTask {
  return {
    ...{ service, remembered, open: [], tree: treeRows(nowMs), tree_total: 6 },
    failures: failures(nowMs, {}).slice(0, 1),
    runs: [
      runOf(2, nowMs),
      runOf(2, nowMs - 6000, { outcome: 'retried', error_type: 'GatewayBusy', retries: 0 }),
    ],
  };
}

/** @param own the name of its service @param isKnown whether there is anything about it */
export function rowDocument(
  { kind, name }: RowPath,
  own: string,
  isKnown: boolean,
  nowMs: number,
): RowDocument {
  if (!isKnown) {
    const head = { version: 1, time: isoAt(nowMs), service: own, name, remembered } as const;
    return { ...head, hour: null, consumers: null, runs: [], workers: [] };
  }
  switch (kind) {
    case 'task':
      return taskDocument(own, name, nowMs);
    case 'queue':
      return queueDocument(own, name, nowMs);
    case 'worker':
      return workerDocument(own, name, nowMs);
  }
}

/** Two ids are known. */
export function foundDocument([service = '']: readonly string[], id: string, nowMs: number): FoundDocument {
  const task = foundTask(service, nowMs);
  const old = { ...task, failures: [], tree: [], tree_total: 0, runs: [runOf(2, nowMs, { id })] };
  const found = id === FAILED_ID ? [task] : id === OLD_FAILED_ID ? [old] : [];
  return { version: 1, time: isoAt(nowMs), id, found, remembered };
}
