import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskEvent } from '../../../src/celery/event.ts';
import {
  cancelled,
  failed,
  line,
  observe,
  received,
  rejected,
  retried,
  revoked,
  sent,
  spaced,
  started,
  succeeded,
  T0_MS,
  watch,
} from '../events.ts';

/** S, R, ▶ and ✓ of a run: sent, received, started and succeeded; R1 and S1 are those of the first retry. */
const [S, R, B, OK] = [sent(), received(), started(), succeeded()];
const [S1, R1, R2] = [sent({ retries: 1 }), received({ retries: 1 }), received({ retries: 2 })];
/** Celery 5.7 reports a rejection without requeue as a failure. */
const REJECTION = failed('Reject', { rejection: true });
const OTHER = { name: 'shop.ship', queue: 'parcels' };
const [S_OTHER, R_OTHER] = [sent(OTHER), received({ name: OTHER.name })];

const SENT = 'sent shop.pay orders';
const RECEIVED = 'received shop.pay orders w1@shop';
const STARTED = 'started shop.pay orders w1@shop';
const SUCCEEDED = 'succeeded shop.pay orders w1@shop 0.25s';
const BEGUN = [SENT, RECEIVED, STARTED];
const of = (kind: string, ...rest: string[]) => [kind, 'shop.pay orders w1@shop', ...rest].join(' ');

/** What the task does, and where that sequence was observed. */
type Life = readonly [what: string, events: readonly TaskEvent[], observed: readonly string[]];

const LIVES: readonly Life[] = [
  ['it succeeds', [S, R, B, OK], [...BEGUN, SUCCEEDED]],
  [
    'it exceeds the hard time limit (5.7, which reports it twice)',
    [S, R, B, failed('TimeLimitExceeded'), failed('TimeLimitExceeded')],
    [...BEGUN, of('failed', 'TimeLimitExceeded', '1s')],
  ],
  [
    'it is rejected, acks_late (5.7)',
    [S, R, B, REJECTION, rejected(false)],
    [...BEGUN, of('rejected', 'dropped')],
  ],
  ['it is rejected after its ack (5.7)', [S, R, B, REJECTION], [...BEGUN, of('rejected', 'dropped')]],
  [
    'it is rejected with requeue, then succeeds',
    [S, R, B, rejected(true), R, B, OK],
    [...BEGUN, of('rejected', 'requeued'), RECEIVED, STARTED, SUCCEEDED],
  ],
  [
    'it replaces itself by a task that fails, whose time is its own',
    [S, R, B, S_OTHER, R_OTHER, B, failed('KeyError')],
    [
      ...BEGUN,
      'sent shop.ship parcels',
      'received shop.ship parcels w1@shop',
      'started shop.ship parcels w1@shop',
      'failed shop.ship parcels w1@shop KeyError 1s',
    ],
  ],
  [
    'it retries, and is started before the retry event',
    [S, R, B, S1, R1, B, retried('KeyError'), OK],
    [...BEGUN, SENT, RECEIVED, STARTED, of('retried', 'KeyError', '4s'), SUCCEEDED],
  ],
  [
    'it retries itself twice',
    [
      S,
      R,
      B,
      S1,
      retried('OSError'),
      R1,
      B,
      sent({ retries: 2 }),
      R2,
      retried('OSError'),
      B,
      failed('OSError'),
    ],
    [
      ...BEGUN,
      SENT,
      of('retried', 'OSError', '2s'),
      RECEIVED,
      STARTED,
      SENT,
      RECEIVED,
      of('retried', 'OSError', '3s'),
      STARTED,
      of('failed', 'OSError', '1s'),
    ],
  ],
  [
    'it has expired when a worker takes it (Redis)',
    [S, revoked({ expired: true })],
    [SENT, of('revoked', 'expired')],
  ],
  ['it waits for its ETA and is revoked', [S, R, revoked()], [SENT, RECEIVED, of('revoked', 'revoked')]],
  [
    'it is terminated, and the signal is reported as a failure too (billiard 4.3.0)',
    [S, R, B, revoked({ terminated: true }), failed('SystemExit')],
    [...BEGUN, of('revoked', 'terminated')],
  ],
  [
    'it is terminated after it has expired',
    [S, R, B, revoked({ terminated: true, expired: true })],
    [...BEGUN, of('revoked', 'terminated')],
  ],
  [
    'it is cancelled for the loss of the connection, and delivered again',
    [S, R, B, cancelled(), R, B, OK],
    [...BEGUN, of('cancelled'), RECEIVED, STARTED, SUCCEEDED],
  ],
  [
    'it has a shadow name, which only workers tell',
    [S, received({ name: 'shadow' }), B, OK],
    [
      SENT,
      'received shadow orders w1@shop',
      'started shadow orders w1@shop',
      'succeeded shadow orders w1@shop 0.25s',
    ],
  ],
  [
    'it replaces itself, and all but the sending leaves in a batch (solo)',
    [S, S_OTHER, R, B, R_OTHER, B, OK],
    [
      SENT,
      'sent shop.ship parcels',
      RECEIVED,
      STARTED,
      'received shop.ship parcels w1@shop',
      'started shop.ship parcels w1@shop',
      'succeeded shop.ship parcels w1@shop 0.25s',
    ],
  ],
  [
    'its start was lost, and it fails',
    [S, R, failed('KeyError')],
    [SENT, RECEIVED, of('failed', 'KeyError', 'unmeasured')],
  ],
  [
    'its receipt was lost, and it fails',
    [S, B, failed('KeyError')],
    [SENT, STARTED, of('failed', 'KeyError', '1s')],
  ],
  [
    'only its end was seen, twice',
    [failed('TimeLimitExceeded'), failed('TimeLimitExceeded')],
    ['failed unknown unknown w1@shop TimeLimitExceeded unmeasured'],
  ],
  [
    'its sending and the start of its retry were lost, and Celery says no runtime',
    [R, B, retried('KeyError'), R1, succeeded({ runtimeS: undefined })],
    [
      'received shop.pay unknown w1@shop',
      'started shop.pay unknown w1@shop',
      'retried shop.pay unknown w1@shop KeyError 1s',
      'received shop.pay unknown w1@shop',
      'succeeded shop.pay unknown w1@shop unmeasured',
    ],
  ],
  [
    'all of its retry but the end was lost',
    [S, R, B, retried('KeyError'), OK],
    [...BEGUN, of('retried', 'KeyError', '1s'), SUCCEEDED],
  ],
  [
    'all of its second delivery but the end was lost',
    [S, R, B, rejected(true), OK],
    [...BEGUN, of('rejected', 'requeued'), SUCCEEDED],
  ],
];

for (const [what, events, observed] of LIVES) {
  test(`${what}: ${events.map(({ type }) => type.slice('task-'.length)).join(' ')}`, () => {
    assert.deepEqual(observe(spaced(events)), observed);
  });
}

test('a missing name is unknown, and does not replace a known one', () => {
  const nameless = { name: '', queue: '' };
  assert.deepEqual(observe(spaced([sent(nameless), received({ name: '' })])), [
    'sent unknown unknown',
    'received unknown unknown w1@shop',
  ]);
  assert.deepEqual(observe(spaced([S, sent(nameless), received({ name: '' }), B])), [
    SENT,
    'sent unknown unknown',
    RECEIVED,
    STARTED,
  ]);
});

const W2 = { hostname: 'w2@shop' };

test('a redelivery to another worker is a separate run', () => {
  const events = spaced([S, R, B, received(W2), started(W2), succeeded(W2), OK]);
  assert.deepEqual(observe(events).slice(3), [
    'received shop.pay orders w2@shop',
    'started shop.pay orders w2@shop',
    'succeeded shop.pay orders w2@shop 0.25s',
    SUCCEEDED,
  ]);
});

test('each of two deliveries starts in its own worker', () => {
  const events = spaced([S, R, received(W2), started(W2), B, failed('KeyError'), failed('OSError', W2)]);
  assert.deepEqual(observe(events).slice(3), [
    'started shop.pay orders w2@shop',
    STARTED,
    of('failed', 'KeyError', '1s'),
    'failed shop.pay orders w2@shop OSError 3s',
  ]);
});

test('a redelivery to the same worker ends twice, each with its own runtime', () => {
  const events = spaced([S, R, B, R, B, failed('KeyError'), failed('KeyError'), failed('KeyError')]);
  assert.deepEqual(observe(events).slice(5), [
    of('failed', 'KeyError', '3s'),
    of('failed', 'KeyError', '2s'),
  ]);
});

test('a retry received by another worker does not end the former run', () => {
  const events = spaced([
    S,
    R,
    B,
    S1,
    received({ retries: 1, ...W2 }),
    started(W2),
    retried('KeyError'),
    failed('OSError', W2),
  ]);
  assert.deepEqual(observe(events).slice(6), [
    of('retried', 'KeyError', '4s'),
    'failed shop.pay orders w2@shop OSError 2s',
  ]);
});

test('after a restart under the same name, events of the new process belong to its own run', () => {
  const events = spaced([
    S,
    R,
    B,
    received({ pid: 18 }),
    received({ pid: 18, retries: 1 }),
    started({ pid: 18 }),
    failed('KeyError', { pid: 18 }),
  ]);
  assert.deepEqual(observe(events).slice(-2), [STARTED, of('failed', 'KeyError', '1s')]);
});

test('each worker’s revocation of a task that was sent to all of them counts, and one that is reported twice counts once', () => {
  const [here, there] = ['w1', 'w2'].map((name) => `revoked shop.pay orders ${name}@shop expired`);
  const [REVOKED, REVOKED_THERE] = [revoked({ expired: true }), revoked({ ...W2, expired: true })];
  for (const events of [
    [S, REVOKED, REVOKED_THERE, REVOKED, REVOKED_THERE],
    [S, R, REVOKED, REVOKED_THERE, REVOKED],
    [S, R, received(W2), REVOKED, REVOKED_THERE, REVOKED, REVOKED_THERE],
  ]) {
    const ends = observe(spaced(events)).filter((line) => line.startsWith('revoked'));
    assert.deepEqual(ends, [here, there]);
  }
  const elsewhere = spaced([S, R, revoked(W2), revoked()]);
  assert.deepEqual(observe(elsewhere).slice(2), [of('revoked', 'revoked')]);
});

test('an id that is sent or received again can be revoked again', () => {
  const REVOKED = revoked({ expired: true });
  for (const run of [[S], [R], [S, R]]) {
    const once = [...run, REVOKED, REVOKED];
    const observed = observe(spaced([...once, ...once, ...once, ...once]));
    assert.equal(observed.filter((line) => line.startsWith('revoked')).length, 4);
  }
});

test('a termination that is reported twice counts once, though its id was sent again in between', () => {
  const TERMINATED = revoked({ terminated: true });
  const observed = observe(spaced([S, R, B, TERMINATED, S, TERMINATED, R, B, TERMINATED]));
  const counted = observed.filter((line) => /^(?:revoked|received)/u.test(line));
  assert.deepEqual(
    counted.map((line) => line.split(' ')[0]),
    ['received', 'revoked', 'received', 'revoked'],
  );
});

test('two tasks that use one id at the same time are counted under their own names', () => {
  const counts = (observed: readonly string[]) =>
    ['shop.pay', 'shop.ship'].map(
      (name) => observed.filter((line) => line.startsWith(`succeeded ${name}`)).length,
    );
  const both = [S, S_OTHER, R, R_OTHER];
  for (const [order, runs] of [
    ['one after the other', [B, OK, B, OK]],
    ['together', [B, B, OK, OK]],
  ] as const) {
    const pairs = [...both, ...runs, ...both, ...runs, ...both, ...runs];
    assert.deepEqual(counts(observe(spaced(pairs))), [3, 3], order);
    const atOnce = [...both, ...both, ...both, ...runs, ...runs, ...runs];
    assert.deepEqual(counts(observe(spaced(atOnce))), [3, 3], `all at once, ${order}`);
  }
});

test('a task that no task has sent replaces none that runs under its id; each success belongs to the one that began then', () => {
  const both = [S, R, B, S_OTHER, { ...R_OTHER, hasNoParent: true }, B];
  const names = (...rest: readonly TaskEvent[]) =>
    observe(spaced([...both, ...rest])).flatMap((line) => line.match(/^(?:succeeded|failed) \S+/u) ?? []);
  const [first, second] = [succeeded({ runtimeS: 5 }), succeeded({ runtimeS: 1 })];
  assert.deepEqual(names(second, first), ['succeeded shop.ship', 'succeeded shop.pay']);
  assert.deepEqual(names(succeeded({ runtimeS: 4 }), succeeded({ runtimeS: 2 })), [
    'succeeded shop.pay',
    'succeeded shop.ship',
  ]);
  assert.deepEqual(names(failed('KeyError'), second), ['failed shop.pay', 'succeeded shop.ship']);
  assert.deepEqual(names(second), ['succeeded shop.ship']);
});

test('a task that ends before one of another name under its id has started was not replaced by that', () => {
  const began = [S, R, B, S_OTHER, R_OTHER];
  const names = (...rest: readonly TaskEvent[]) =>
    observe(spaced([...began, ...rest])).flatMap((line) => line.match(/^(?:succeeded|failed) \S+/u) ?? []);
  const longer = succeeded({ runtimeS: 3 });
  assert.deepEqual(names(longer, B, OK), ['succeeded shop.pay', 'succeeded shop.ship']);
  assert.deepEqual(names(failed('KeyError'), B, OK), ['failed shop.pay', 'succeeded shop.ship']);
  assert.deepEqual(names(OK), ['succeeded shop.ship'], 'its start was lost, but it began after its receipt');
  assert.deepEqual(names(B, longer), ['succeeded shop.ship']);
});

test('a retry that starts while the attempt before it is still ending has its own end and runtime', () => {
  for (const [end, observed] of [
    [OK, SUCCEEDED],
    [failed('KeyError'), of('failed', 'KeyError', '1s')],
  ] as const) {
    const inOrder = spaced([S, R, B, R1, B, retried('KeyError'), end]);
    const ends = observe(inOrder).slice(-2);
    assert.match(ends[0] ?? '', /^retried .* KeyError 3s$/u);
    assert.match(ends[1] ?? '', end === OK ? /^succeeded/u : /^failed .* KeyError 2s$/u);
    const late = observe(spaced([S, R, B, R1, B, end, retried('KeyError')])).slice(-2);
    assert.equal(late[0], observed);
    assert.match(late[1] ?? '', /^retried .* KeyError 4s$/u);
  }
});

test('a revocation reported by another worker does not end a run here', () => {
  const events = spaced([S, R, B, revoked({ ...W2, expired: true }), OK]);
  assert.deepEqual(observe(events).slice(3), ['revoked shop.pay orders w2@shop expired', SUCCEEDED]);
});

test('the runtime of a failure is by the worker’s clock and never negative', () => {
  const [, , begun, end] = spaced([S, R, B, failed('KeyError')]);
  assert.ok(begun !== undefined && end !== undefined);
  const setBack = { ...end, timestampMs: begun.timestampMs - 5_000 };
  const later = watch();
  later.cluster.apply(begun, begun.timestampMs);
  later.cluster.apply(setBack, begun.timestampMs + 5_000);
  later.cluster.flush();
  assert.deepEqual(later.news().map(line).slice(1), ['failed unknown unknown w1@shop KeyError 0s']);
  // Both events arrive at once and much later: the bridge's clock plays no part.
  const on = watch();
  for (const event of [begun, end]) on.cluster.apply(event, T0_MS + 900_000);
  on.cluster.flush();
  const [, observation] = on.news();
  assert.ok(observation?.kind === 'task-failed');
  assert.equal(observation.runtimeS, 1);
});

test('uuids named like built-in properties are ordinary tasks', () => {
  for (const uuid of ['__proto__', 'constructor', 'toString']) {
    const events = spaced([S, R, B, OK].map((event) => ({ ...event, uuid })));
    assert.deepEqual(observe(events), [...BEGUN, SUCCEEDED]);
  }
});

test('a task that its worker does not know has the name that its only event says', () => {
  const unknown = failed('NotRegistered', { name: 'shop.gone' });
  const observed = (name: string) => `failed ${name} w1@shop NotRegistered unmeasured`;
  assert.deepEqual(observe(spaced([unknown])), [observed('shop.gone unknown')]);
  assert.deepEqual(observe(spaced([S, unknown])), [SENT, observed('shop.pay orders')]);
});
