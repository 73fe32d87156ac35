/** The waits of each run, from its own sending, receipt and start. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { received, rejected, retried, SETTINGS, sent, started, succeeded, T0_MS, watch } from './events.ts';

const at = (seconds: number) => ({ timestampMs: T0_MS + seconds * 1_000 });
const eta = (seconds: number) => ({ etaMs: T0_MS + seconds * 1_000 });
const BITS = '0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.1';
const delayed = { queue: '', routingKey: `${BITS}.orders` };

/**
 * `queue 1` for each receipt, `wait 2 prefetch 1` for each start; `-` if not known. Each event arrives when it
 * happens, but never before the previous one.
 */
function times(events: readonly CeleryEvent[]): readonly string[] {
  const on = watch();
  let nowMs = 0;
  for (const event of events) {
    nowMs = Math.max(nowMs, event.timestampMs);
    on.cluster.apply(event, nowMs);
    // Events listed after a start arrive after the window.
    if (event.type === 'task-started') nowMs += 2_000;
  }
  on.cluster.flush();
  return on.observed.flatMap((it) => {
    if (it.kind === 'task-received') return [`queue ${round(it.queueTimeS)}`];
    if (it.kind === 'task-started')
      return [`wait ${round(it.waitTimeS)} prefetch ${round(it.prefetchTimeS)}`];
    return [];
  });
}

const CASES: readonly (readonly [what: string, readonly CeleryEvent[], expected: readonly string[]])[] = [
  [
    'a plain task waits in the queue, then in its worker',
    [sent(at(0)), received(at(3)), started(at(5))],
    ['queue 3', 'wait 5 prefetch 2'],
  ],
  [
    'without a sending only the time in the worker is known',
    [received(at(3)), started(at(5))],
    ['queue -', 'wait - prefetch 2'],
  ],
  [
    'without a receipt the time in the worker is not known',
    [sent(at(0)), started(at(5))],
    ['wait 5 prefetch -'],
  ],
  [
    'until its ETA a task does not wait, though its worker has it',
    [sent({ ...at(0), ...eta(60) }), received({ ...at(1), ...eta(60) }), started(at(60.5))],
    ['queue 1', 'wait 0.5 prefetch 0.5'],
  ],
  [
    'an ETA that has passed when the task is received delays nothing',
    [sent({ ...at(0), ...eta(10) }), received({ ...at(30), ...eta(10) }), started(at(32))],
    ['queue 30', 'wait 22 prefetch 2'],
  ],
  [
    'what native delayed delivery holds back does not wait in its queue',
    [sent({ ...at(0), ...delayed, ...eta(5) }), received({ ...at(7), ...eta(5) }), started(at(8))],
    ['queue 2', 'wait 3 prefetch 1'],
  ],
  [
    'each retry has its own sending, ETA and wait',
    [
      sent(at(0)),
      received(at(1)),
      started(at(2)),
      sent({ ...at(10), ...eta(20), retries: 1 }),
      retried('KeyError', at(10)),
      received({ ...at(11), ...eta(20), retries: 1 }),
      started(at(24)),
    ],
    ['queue 1', 'wait 2 prefetch 1', 'queue 1', 'wait 4 prefetch 4'],
  ],
  [
    'a retry that is received before the run before it has ended has its own times too',
    [
      sent(at(0)),
      received(at(1)),
      started(at(2)),
      sent({ ...at(3), ...eta(4), retries: 1 }),
      received({ ...at(3.1), ...eta(4), retries: 1 }),
      retried('KeyError', at(3.2)),
      started(at(6)),
    ],
    ['queue 1', 'wait 2 prefetch 1', `queue ${0.1}`, 'wait 2 prefetch 2'],
  ],
  [
    'a second delivery has no sending of its own, so only its time in the worker is known',
    [sent(at(0)), received(at(1)), started(at(2)), rejected(true, at(3)), received(at(5)), started(at(7))],
    ['queue 1', 'wait 2 prefetch 1', 'queue -', 'wait - prefetch 2'],
  ],
  [
    'each run of a task that replaces itself has its own sending, in whatever order they are reported',
    [
      sent(at(0)),
      sent({ ...at(0.5), name: 'shop.ship', queue: 'parcels' }),
      received(at(1)),
      started(at(2)),
      received({ ...at(4.5), name: 'shop.ship' }),
      started(at(6.5)),
    ],
    ['queue 1', 'wait 2 prefetch 1', 'queue 4', 'wait 6 prefetch 2'],
  ],
  [
    'a task under another name in its worker still has its sending',
    [sent(at(0)), received({ ...at(1), name: 'shadow' }), started(at(3))],
    ['queue 1', 'wait 3 prefetch 2'],
  ],
  [
    'a sending that comes after its receipt is its sending all the same',
    [received(at(1)), sent(at(1.01)), started(at(3))],
    ['queue 0', 'wait 1.99 prefetch 2'],
  ],
  [
    'a sending that comes far too late gives its run nothing, and the next one neither',
    [
      received(at(1)),
      started(at(2)),
      { ...sent(at(0)), timestampMs: T0_MS },
      retried('KeyError', at(20)),
      received({ ...at(21), retries: 1 }),
      started(at(22)),
    ],
    ['queue -', 'wait - prefetch 1', 'queue -', 'wait - prefetch 1'],
  ],
];

for (const [what, events, expected] of CASES) {
  test(what, () => assert.deepEqual(times(events), expected));
}

function round(seconds: number | undefined): string {
  return seconds === undefined ? '-' : String(Math.round(seconds * 1_000) / 1_000);
}

const CLIENT = 'gen7@office';
const WORKER = 'w1@cellar';

/** Pairs of hosts with a reported clock skew. */
function skews(events: readonly CeleryEvent[]): readonly string[] {
  const on = watch();
  for (const event of events) on.cluster.apply(event, T0_MS);
  on.cluster.flush();
  return on.observed.flatMap((it) =>
    it.kind === 'clock-skewed' ? [`${it.senderHost} ${it.workerHost}`] : [],
  );
}

const life = (uuid: string, sentAt: number, receivedAt: number, startedAt: number) => [
  sent({ uuid, hostname: CLIENT, ...at(sentAt) }),
  received({ uuid, hostname: WORKER, ...at(receivedAt) }),
  started({ uuid, hostname: WORKER, ...at(startedAt) }),
];

test('a negative wait is 0, and the clock skew is reported with both hosts', () => {
  assert.deepEqual(times(life('u1', 60, 1, 2)), ['queue 0', 'wait 0 prefetch 1']);
  assert.deepEqual(skews(life('u1', 60, 1, 2)), ['office cellar', 'office cellar']);
});

test('a delay that Celery always adds to task-sent is no clock skew', () => {
  assert.deepEqual(skews(life('u1', 1.25, 1, 1)), []);
  assert.deepEqual(skews(life('u1', 1.26, 1, 1)), ['office cellar', 'office cellar']);
  assert.deepEqual(skews(life('u1', 1.26, 1, 2)), ['office cellar']);
});

test('pairs of hosts are reported by name up to a limit, and all others together', () => {
  const on = watch({ skewPairsMax: 2 });
  for (let host = 0; host < 5; host += 1) {
    for (const uuid of [`a${host}`, `b${host}`]) {
      on.cluster.apply(sent({ uuid, hostname: `gen1@h${host}`, ...at(60) }), T0_MS);
      on.cluster.apply(received({ uuid, hostname: WORKER, ...at(1) }), T0_MS);
    }
  }
  on.cluster.flush();
  const pairs = on.observed.flatMap((it) => (it.kind === 'clock-skewed' ? [it.senderHost] : []));
  assert.deepEqual(pairs, ['h0', 'h0', 'h1', 'h1', ...Array.from({ length: 6 }, () => 'other')]);
  const { size, evicted } = on.cluster.tables().clock_skews;
  assert.deepEqual({ size, evicted }, { size: 2, evicted: 6 });
});

test('a pair without a clock skew for two retention periods gives its place to another', () => {
  const on = watch({ skewPairsMax: 1 });
  const skewedFrom = (host: string, atMs: number): readonly string[] => {
    const [uuid, timestampMs] = [`${host}${atMs}`, T0_MS + atMs];
    on.cluster.apply(
      sent({ uuid, hostname: `gen1@${host}`, timestampMs: timestampMs + 60_000 }),
      timestampMs,
    );
    on.cluster.apply(received({ uuid, hostname: WORKER, timestampMs }), timestampMs);
    on.cluster.collect(timestampMs + 1_000);
    return on.news().flatMap((it) => (it.kind === 'clock-skewed' ? [it.senderHost] : []));
  };
  const periodMs = SETTINGS.seriesRetentionMs + 2_000;
  assert.deepEqual(skewedFrom('old', 0), ['old']);
  assert.deepEqual(skewedFrom('new', 10_000), ['other']);
  assert.deepEqual(skewedFrom('old', periodMs), ['old']);
  assert.deepEqual(skewedFrom('new', 2 * periodMs), ['other'], 'the other is still in use');
  assert.deepEqual(skewedFrom('new', 4 * periodMs), ['new']);
  assert.equal(on.cluster.tables().clock_skews.size, 1);
});

test('the queue of a task is that of its sending, else its last one, else the only one of its worker', () => {
  const queueOf = (events: readonly CeleryEvent[], consumed: readonly string[] = []): readonly string[] => {
    const on = watch();
    // The worker must be known before its queues can be.
    on.cluster.apply(succeeded({ uuid: 'before' }), T0_MS);
    on.cluster.answers.consumes('w1@shop', consumed, { wallMs: T0_MS, listenedMs: T0_MS });
    for (const event of events) on.cluster.apply(event, event.timestampMs);
    on.cluster.flush();
    return on.observed.flatMap((it) => {
      const { task, queue } = 'run' in it ? it.run : { task: 'unknown', queue: '' };
      return task === 'unknown' ? [] : [queue];
    });
  };
  const run = [received(at(1)), started(at(2)), succeeded(at(3))];
  assert.deepEqual(queueOf([sent(at(0)), ...run], ['other']), ['orders', 'orders', 'orders', 'orders']);
  assert.deepEqual(queueOf([sent({ ...at(0), ...delayed }), ...run]), [
    'orders',
    'orders',
    'orders',
    'orders',
  ]);
  assert.deepEqual(queueOf(run, ['orders']), ['orders', 'orders', 'orders']);
  assert.deepEqual(queueOf(run, ['orders', 'mails']), ['unknown', 'unknown', 'unknown']);
  assert.deepEqual(queueOf(run, []), ['unknown', 'unknown', 'unknown']);
  const again = [retried('KeyError', at(3)), received({ ...at(4), retries: 1 }), started(at(5))];
  assert.deepEqual(
    queueOf([sent(at(0)), received(at(1)), started(at(2)), ...again], ['other']),
    Array.from({ length: 6 }, () => 'orders'),
  );
});

test('a routing key that only resembles a delayed one names no queue', () => {
  for (const routingKey of [BITS, `${BITS}.`, `2.${BITS.slice(2)}.orders`, `0.${BITS}`, 'orders', '']) {
    const on = watch();
    on.cluster.apply(sent({ ...at(0), queue: '', routingKey }), T0_MS);
    const [it] = on.observed;
    const expected = routingKey === `0.${BITS}` ? '1' : 'unknown';
    assert.equal(it?.kind === 'task-sent' ? it.run.queue : undefined, expected, routingKey);
  }
});

test('a task that was counted without its queue is never counted with it', () => {
  const on = watch();
  on.cluster.apply(received(at(1)), T0_MS + 1_000);
  on.cluster.collect(T0_MS + 3_000);
  on.cluster.apply(sent(at(1.01)), T0_MS + 3_000);
  on.cluster.apply(started(at(2)), T0_MS + 3_000);
  on.cluster.flush();
  const queues = on.observed
    .filter(({ kind }) => kind !== 'worker-appeared')
    .map((it) => `${it.kind} ${'run' in it ? it.run.queue : 'queue' in it ? it.queue : ''}`);
  assert.deepEqual(queues, ['task-received unknown', 'task-sent orders', 'task-started unknown']);
});
