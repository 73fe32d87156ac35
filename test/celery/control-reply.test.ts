/** The replies of workers to remote control, of all pools and versions; and what is no reply. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readActive,
  readQueues,
  readReply,
  readReserved,
  readScheduled,
  readStats,
  type WorkerStats,
} from '../../src/celery/control-reply.ts';
import { fc } from '../seed.ts';
import { message } from './wire.ts';

const SECRET = 'pa55word';

function statsOf(stats: unknown): WorkerStats {
  const reply = readReply(message(JSON.stringify({ 'w1@shop': stats })), 0, readStats);
  assert.ok(reply.kind === 'answer', JSON.stringify(reply));
  assert.equal(reply.nodename, 'w1@shop');
  return reply.content;
}

const COMMON = { pid: 20_619, clock: '24', uptime: 8, total: { 'shop.pay': 3 } };
const RUSAGE = { utime: 0.54, stime: 0.159, maxrss: 51_840, minflt: 7 };

test('a prefork pool with an autoscaler: its size is the smallest one, so its limit is the autoscaler’s', () => {
  const stats = statsOf({
    ...COMMON,
    pool: {
      implementation: 'celery.concurrency.prefork:TaskPool',
      'max-concurrency': 1,
      processes: [20_628, 20_633, 20_634],
      writes: { total: 4, raw: '2, 1, 1', strategy: 'fair' },
    },
    autoscaler: { max: 5, min: 1, current: 3, qty: 3 },
    broker: { hostname: 'h', userid: 'me', alternates: [`amqp://me:${SECRET}@h//`] },
    prefetch_count: 14,
    rusage: RUSAGE,
  });
  assert.deepEqual(stats, {
    ...{ pid: 20_619, pool: 'prefork', processes: 3, limit: 5, autoscaler: { min: 1, max: 5 } },
    ...{ prefetchLimit: 14, uptimeS: 8, cpuUserS: 0.54, cpuSystemS: 0.159, memoryMaxBytes: 53_084_160 },
    writes: [2, 1, 1],
  });
  assert.ok(!JSON.stringify(stats).includes(SECRET));
});

/** What each pool says of itself: since Celery 5.3 with its name, before without. */
const POOLS = [
  ['prefork', 'prefork', { 'max-concurrency': 2, processes: [1, 2], writes: 'N/A' }, 2],
  ['solo', 'solo', { 'max-concurrency': 1, processes: [7], 'max-tasks-per-child': null, timeouts: [] }, 1],
  ['thread', 'threads', { 'max-concurrency': 4, threads: 3 }, 4],
  ['gevent', 'gevent', { 'max-concurrency': 50 }, 50],
  ['eventlet', 'eventlet', { 'max-concurrency': 60, 'free-threads': 60, 'running-threads': 0 }, 60],
] as const;

for (const [module, pool, block, size] of POOLS) {
  test(`a pool of ${pool}, of any version of Celery`, () => {
    const named = { ...block, implementation: `celery.concurrency.${module}:TaskPool` };
    for (const each of [block, named]) {
      const stats = statsOf({ ...COMMON, pool: each, rusage: RUSAGE, prefetch_count: 0 });
      assert.deepEqual(
        [stats.pool, stats.processes, stats.limit, stats.autoscaler, stats.prefetchLimit],
        [pool, size, size, undefined, 0],
      );
    }
  });
}

test('writes that are no numbers are left out', () => {
  const writes = (raw: unknown) =>
    statsOf({ pool: { 'max-concurrency': 2, processes: [1], writes: { raw } } }).writes;
  assert.deepEqual(writes('2, x, -1, 3'), [2, 3]);
  assert.deepEqual([writes(''), writes([1]), writes(undefined)], [[0], [], []]);
  assert.equal(writes('1,'.repeat(5000)).length, 1000);
});

test('greenlets with an autoscaler: their number is its current size', () => {
  const pool = { implementation: 'celery.concurrency.gevent:TaskPool', 'max-concurrency': 2 };
  const stats = statsOf({ ...COMMON, pool, autoscaler: { max: 9, min: 2, current: 5 } });
  assert.deepEqual([stats.processes, stats.limit], [5, 9]);
});

test('somebody else’s pool, and none at all', () => {
  const pool = { implementation: 'shop.pools:Pool', 'max-concurrency': 3 };
  assert.deepEqual([statsOf({ pool }).pool, statsOf({ pool }).limit], ['other', 3]);
  assert.deepEqual([statsOf({ pool: 'N/A' }).pool, statsOf({ pool: 'N/A' }).limit], [undefined, undefined]);
});

test('what a platform does not have is not told, what is implausible is noted', () => {
  const bare = readReply(message('{"w1@shop": {"rusage": "N/A", "prefetch_count": "N/A"}}'), 0, readStats);
  assert.ok(bare.kind === 'answer');
  assert.deepEqual(bare.implausible, []);
  assert.deepEqual(bare.content.prefetchLimit, undefined);
  const odd = readReply(
    message('{"w1@shop": {"pid": -1, "uptime": 1e300, "rusage": {"utime": NaN}}}'),
    0,
    readStats,
  );
  assert.ok(odd.kind === 'answer');
  assert.deepEqual(
    odd.implausible.map(({ field }) => field),
    ['pid', 'uptime', 'cpu_time'],
  );
  assert.deepEqual([odd.content.pid, odd.content.uptimeS, odd.content.cpuUserS], [0, undefined, undefined]);
});

test('the queues of a worker, each once', () => {
  const queues = [
    { name: 'orders', exchange: null },
    { name: 'mails' },
    { name: 'orders' },
    { name: 7 },
    'x',
    null,
  ];
  const reply = readReply(message(JSON.stringify({ 'w1@shop': queues })), 0, readQueues);
  assert.deepEqual(reply.kind === 'answer' && reply.content, ['orders', 'mails']);
  const none = readReply(message('{"w1@shop": []}'), 0, readQueues);
  assert.deepEqual(none.kind === 'answer' && none.content, []);
});

test('tasks that run, that wait for a slot of the pool, and that wait for their ETA', () => {
  const info = (id: string, more = {}) => ({
    ...{ id, name: 'shop.pay', args: [SECRET], time_start: null },
    delivery_info: { exchange: '', routing_key: 'orders' },
    ...more,
  });
  const reported = { name: 'shop.pay', queue: 'orders', sinceMs: undefined } as const;
  const read = (value: unknown, reader: typeof readActive) => {
    const reply = readReply(message(JSON.stringify({ 'w1@shop': value })), 0, reader);
    return reply.kind === 'answer' ? [reply.content, reply.implausible.length] : reply.kind;
  };
  assert.deepEqual(read([info('u1', { time_start: 1_795_231_313.5 }), { name: 'shop.pay' }, 7], readActive), [
    [{ ...reported, uuid: 'u1', stage: 'started', sinceMs: 1_795_231_313_500 }],
    0,
  ]);
  const delayed = { exchange: 'celery_delayed_delivery', routing_key: `${'0.'.repeat(26)}1.1.mails` };
  assert.deepEqual(read([info('u1', { delivery_info: delayed })], readReserved), [
    [{ ...reported, uuid: 'u1', stage: 'waiting', queue: 'mails' }],
    0,
  ]);
  const other = { ...delayed, routing_key: 'mails' };
  assert.deepEqual(read([info('u1', { delivery_info: other })], readReserved), [
    [{ ...reported, uuid: 'u1', stage: 'waiting', queue: '' }],
    0,
  ]);
  assert.deepEqual(read([info('u1'), null], readReserved), [
    [{ ...reported, uuid: 'u1', stage: 'waiting' }],
    0,
  ]);
  const item = (eta: unknown, request: unknown = info('u1')) => ({ eta, priority: 6, request });
  assert.deepEqual(
    read(
      [item('2026-11-21T03:22:13.500000+00:00'), item(null), item('soon'), item(null, 'x'), 7],
      readScheduled,
    ),
    [
      [
        { ...reported, uuid: 'u1', stage: 'scheduled', sinceMs: Date.UTC(2026, 10, 21, 3, 22, 13, 500) },
        { ...reported, uuid: 'u1', stage: 'waiting' },
        { ...reported, uuid: 'u1', stage: 'waiting' },
      ],
      1,
    ],
  );
  assert.equal(read({ error: 'x' }, readScheduled), 'error');
  assert.equal(read('x', readScheduled), 'unexpected');
});

test('an error of a worker, and something else than was asked for', () => {
  const error = `{"w1@shop": {"error": "TypeError('${SECRET}')"}}`;
  assert.deepEqual(readReply(message(error), 0, readQueues), { kind: 'error', nodename: 'w1@shop' });
  for (const value of ['"pong"', 'null', '7', '{"ok": "pong"}'])
    assert.deepEqual(readReply(message(`{"w1@shop": ${value}}`), 0, readQueues), {
      kind: 'unexpected',
      nodename: 'w1@shop',
    });
  assert.deepEqual(readReply(message('{"w1@shop": []}'), 0, readStats), {
    kind: 'unexpected',
    nodename: 'w1@shop',
  });
});

test('pickle is never decoded, and what is no reply is unreadable', () => {
  const pickle = readReply(message('{}', { contentType: 'application/x-python-serialize' }), 0, readStats);
  assert.deepEqual(pickle.kind === 'unreadable' && pickle.rejection.reason, 'unsafe-serializer');
  for (const body of ['{}', '[]', '7', 'null', '{"": {}}', '{'])
    assert.equal(readReply(message(body), 0, readStats).kind, 'unreadable', body);
});

test('nothing makes it throw, and all that is kept is bounded', () => {
  const values = fc.oneof(fc.jsonValue(), fc.constant('N/A'), fc.double(), fc.bigInt().map(Number));
  const stats = fc.dictionary(
    fc.constantFrom('pid', 'pool', 'autoscaler', 'rusage', 'uptime', 'prefetch_count', 'error'),
    fc.oneof(
      values,
      fc.dictionary(
        fc.constantFrom('max-concurrency', 'processes', 'implementation', 'max', 'min', 'utime', 'maxrss'),
        values,
      ),
    ),
  );
  fc.assert(
    fc.property(fc.oneof(stats, fc.array(stats), values), fc.string(), (value, nodename) => {
      const body = message(JSON.stringify({ [nodename]: value }));
      const reply = readReply(body, 0, readStats);
      readReply(body, 0, readQueues);
      if (reply.kind !== 'answer') return;
      const { pool, autoscaler, writes, ...numbers } = reply.content;
      assert.ok(pool === undefined || pool.length < 10);
      for (const each of [...Object.values(numbers), ...Object.values(autoscaler ?? {}), ...writes])
        assert.ok(each === undefined || (Number.isFinite(each) && each >= 0));
    }),
    { numRuns: 300 },
  );
});
