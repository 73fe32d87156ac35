/** What finished runs tell of the tree of a workflow: places, the runs before, parents, roots and traces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Extras } from '../../../src/celery/event.ts';
import type { FinishedRun, NewTask } from '../../../src/tracer/ancestry/finished.ts';
import {
  failed,
  received,
  rejected,
  retried,
  revoked,
  sent,
  signal,
  started,
  succeeded,
  T0_MS,
} from '../../cluster/events.ts';
import {
  at,
  briefly,
  listening,
  report,
  runs,
  runsOf,
  type Story,
  sendings,
} from '../../cluster/listening.ts';
import { inTurn } from './in-turn.ts';

const [C, S, I] = [
  '90817c7f-6c28-4fe5-aa46-7adb16d15d7d',
  '9ef3f114-760a-4af7-9064-83c28e3b001e',
  '792678ed-6840-42b7-b65a-a08cfc471cf0',
];

function family(rootId: string, parentId = ''): { readonly extras: Extras } {
  return { extras: { lineage: { rootId, parentId } } };
}

/** `succeeded shop.ship 0.1 replaces 0.0, below m1 0.0`: a run and its parent, if it has one. */
function withParent(run: FinishedRun): string {
  return briefly(run) + (run.parentId === '' ? '' : `, below ${run.parentId} ${at(run.parentPlace)}`);
}

/** The root of the trace of an id that is no uuid, and its own root: sent at this time. */
function sentAt(id: string, atMs = 0): string {
  return `${id}/shop/${T0_MS + atMs}`;
}

/** A chain of three: the second task is retried, and its second run sends the third. */
const CHAIN: Story = [
  [949.424, received({ uuid: C, name: 'app.charge', ...family(C) })],
  [950.956, sent({ uuid: C, name: 'app.charge', ...family(C) })],
  [974.541, started({ uuid: C })],
  [1044.705, sent({ uuid: S, name: 'app.ship', ...family(C, C) })],
  [1056.533, succeeded({ uuid: C, runtimeS: 0.089477 })],
  [1068.48, received({ uuid: S, name: 'app.ship', ...family(C, C) })],
  [1198.748, started({ uuid: S })],
  [1223.766, sent({ uuid: S, name: 'app.ship', retries: 1, etaMs: T0_MS + 1421.814, ...family(C, C) })],
  [1227.059, received({ uuid: S, name: 'app.ship', retries: 1, etaMs: T0_MS + 1421.814, ...family(C, C) })],
  [1231.395, retried('ConnectionError', { uuid: S })],
  [1423.22, started({ uuid: S })],
  [1445.824, sent({ uuid: I, name: 'app.invoice', ...family(C, S) })],
  [1449.212, received({ uuid: I, name: 'app.invoice', ...family(C, S) })],
  [1454.393, succeeded({ uuid: S, runtimeS: 0.029251 })],
  [1454.519, started({ uuid: I })],
  [1487.628, failed('ValueError', { uuid: I })],
];

const IN_TREE = [
  'succeeded app.charge 0.0',
  `retried app.ship 0.0, below ${C} 0.0`,
  `succeeded app.ship 1.0 retry_of 0.0, below ${C} 0.0`,
  `failed app.invoice 0.0, below ${S} 1.0`,
];

test('a chain with a retry: each run knows which run sent it', () => {
  const reported = runsOf(CHAIN);
  assert.deepEqual(reported.map(withParent), IN_TREE);
  assert.deepEqual(
    reported.map(({ isSentNew }) => isSentNew),
    [true, true, false, true],
  );
  assert.ok(reported.every((run) => run.rootId === C && run.traceRootId === C && !run.beginsTrace));
  assert.ok(reported.every(({ isParentUnknown = false }) => !isParentUnknown));
  const [charge, , ship] = reported;
  assert.deepEqual([charge?.sent?.sentMs, charge?.receivedMs], [T0_MS + 950.956, T0_MS + 949.424]);
  assert.ok(Math.abs((charge?.waitTimeS ?? 0) - 0.023585) < 1e-6);
  assert.ok(Math.abs((ship?.waitTimeS ?? 0) - 0.001406) < 1e-6);
  // Only the retry has a sending of its own.
  const retries = reported.flatMap(({ retrySent }) => retrySent ?? []);
  assert.deepEqual(
    retries.map(({ sentMs, retries, sender }) => [sentMs, retries, sender]),
    [[T0_MS + 1223.766, 1, 'gen4711@shop']],
  );
  assert.ok(ship?.retrySent !== undefined);
});

test('an id that is sent again in another workflow is in the trace of that, below its parent there', () => {
  const pay = { uuid: 'x', name: 'app.pay' };
  const story: Story = ['a', 'b'].flatMap((root, index) => {
    const order = { uuid: root, name: 'app.order' };
    const mail = { uuid: `of ${root}`, name: 'app.mail', ...family(root, 'x') };
    const below = { ...pay, ...family(root, root) };
    return [
      ...inTurn(100 * index, received({ ...order, ...family(root) }), succeeded(order)),
      ...inTurn(100 * index + 10, sent(below), received(below), started(pay), sent(mail), succeeded(pay)),
      ...inTurn(100 * index + 15, received(mail), succeeded(mail)),
    ];
  });
  for (const isSentTold of [true, false]) {
    const reported = runsOf(story.filter(([, { type }]) => isSentTold || type !== 'task-sent'));
    assert.deepEqual(
      reported.map((run) => `${withParent(run)}: ${run.traceRootId}`),
      [
        `succeeded app.order 0.0: ${sentAt('a')}`,
        `succeeded app.pay 0.0, below a 0.0: ${sentAt('a')}`,
        `succeeded app.mail 0.0, below x 0.0: ${sentAt('a')}`,
        `succeeded app.order 0.0: ${sentAt('b', 100)}`,
        `succeeded app.pay 0.1, below b 0.0: ${sentAt('b', 100)}`,
        `succeeded app.mail 0.0, below x 0.1: ${sentAt('b', 100)}`,
      ],
    );
    assert.ok(reported.every(({ beginsTrace }) => !beginsTrace));
    assert.equal(reported[4]?.sent?.sentMs, isSentTold ? T0_MS + 110 : undefined);
  }
});

test('without task-sent it is the same tree', () => {
  const reported = runsOf(CHAIN.filter(([, { type }]) => type !== 'task-sent'));
  assert.deepEqual(reported.map(withParent), IN_TREE);
  assert.ok(reported.every((run) => run.sent === undefined));
});

for (const [what, retries, end, untilReplaced, expected] of [
  [
    'deliveries are counted apart for each number of retries',
    [0, 0, 1, 1, 1, 0, 1, 2, 0],
    rejected(true),
    9,
    '0.0 0.1 1.0 1.1 1.2 0.2 1.3 2.0 0.3',
  ],
  [
    'a task that was retried twice and is then replaced, and retried again, has no place twice',
    [0, 1, 2, 0, 1, 2, 3, 1],
    retried('KeyError'),
    3,
    '0.0 1.0 2.0 0.1 1.1 2.1 3.0 1.2',
  ],
] as const) {
  test(what, () => {
    const story = retries.flatMap((each, index) => {
      const name = index < untilReplaced ? 'shop.pay' : 'shop.ship';
      return inTurn(10 * index, received({ name, retries: each }), started(), end);
    });
    assert.equal(runsOf(story).map(at).join(' '), expected);
  });
}

test('a run whose receipt was missed is the next one', () => {
  const reported = runsOf([
    ...inTurn(0, received(), started(), retried('KeyError')),
    ...inTurn(3, started(), rejected(true), succeeded()),
  ]);
  assert.deepEqual(reported.map(briefly), [
    'retried shop.pay 0.0',
    'requeued shop.pay 1.0 retry_of 0.0',
    'succeeded shop.pay 1.1 redelivery_of 1.0',
  ]);
});

test('after a restart of the bridge, the place of a retry is as before, and that of a task that replaced another', () => {
  const other = { name: 'shop.ship', ...family('u0', 'u1') };
  assert.deepEqual(
    [
      inTurn(0, received({ retries: 2 }), succeeded()),
      inTurn(0, sent(other), received(other), succeeded()),
    ].flatMap((story) => runsOf(story).map(briefly)),
    ['succeeded shop.pay 2.0 retry_of 1.0', 'succeeded shop.ship 0.1 replaces 0.0'],
  );
});

test('after a restart of the bridge, a task that is replaced by a chain is not below itself', () => {
  const reported = runsOf([
    ...inTurn(1, received({ uuid: 'm1', name: 'shop.pack', ...family('u0', 'u1') }), started({ uuid: 'm1' })),
    ...inTurn(3, received({ uuid: 'm2', name: 'shop.ship', ...family('u0', 'm1') })),
    ...inTurn(4, succeeded({ uuid: 'm1' }), started({ uuid: 'm2' })),
    ...inTurn(6, received({ uuid: 'u1', name: 'shop.mail', ...family('u0', 'm2') })),
    ...inTurn(7, succeeded({ uuid: 'm2' }), started({ uuid: 'u1' }), succeeded({ uuid: 'u1' })),
  ]);
  assert.deepEqual(reported.map(withParent), [
    'succeeded shop.pack 0.0, below u1 0.0',
    'succeeded shop.ship 0.0, below m1 0.0',
    'succeeded shop.mail 0.1 replaces 0.0, below m2 0.0',
  ]);
});

test('a retry that is over before the run that sent it is told: the sending has its own ancestry', () => {
  const other = { hostname: 'w2@shop-b' };
  const on = listening();
  report(on, [
    ...inTurn(0, sent(family('u1')), received(family('u1')), started()),
    ...inTurn(3, sent({ retries: 1, ...family('u1', 'u1') })),
    ...inTurn(4, received({ retries: 1, ...other, ...family('u1', 'u1') })),
    ...inTurn(6, started(other), succeeded(other)),
  ]);
  on.cluster.collect(T0_MS + 10_000);
  report(on, [[10_001, retried('KeyError')]]);
  on.cluster.flush();
  const [first, second] = runs(on);
  assert.equal(first && briefly(first), 'succeeded shop.pay 1.0 retry_of 0.0');
  assert.deepEqual([first?.isSentNew, first?.parentId, first?.sentAncestry?.parentId], [true, 'u1', '']);
  assert.deepEqual([second?.isSentNew, second?.sentAncestry], [false, undefined]);
});

/** A task that replaces itself by another, which is sent and received before the first one has ended. */
const NEXT = { name: 'shop.ship', ...family('u1', 'u1') };
const REPLACED: Readonly<Record<string, readonly [story: Story, ...expected: readonly string[]]>> = {
  'by another: the run ends with the receipt of the next one': [
    [
      ...inTurn(0, sent(family('u1')), received(family('u1')), started()),
      ...inTurn(3, sent(NEXT), received(NEXT), started(), succeeded()),
    ],
    'replaced shop.pay 0.0 at 4, sent shop.pay',
    'succeeded shop.ship 0.1 replaces 0.0, below u1 0.0 at 6, sent shop.ship',
  ],
  'by another, and its sending was not told: it does not take that of the other': [
    [
      ...inTurn(1, received(family('u1')), started()),
      ...inTurn(3, sent(NEXT), received(NEXT), started(), succeeded()),
    ],
    'replaced shop.pay 0.0 at 4, sent undefined',
    'succeeded shop.ship 0.1 replaces 0.0, below u1 0.0 at 6, sent shop.ship',
  ],
  'in the pool solo: what it sends arrives before its own receipt': [
    [
      ...inTurn(0, sent(family('u1'))),
      ...inTurn(3, sent(NEXT)),
      ...inTurn(1, received(family('u1')), started()),
      ...inTurn(4, received(NEXT), succeeded({ runtimeS: 0.001 })),
    ],
    'replaced shop.pay 0.0 at 4, sent shop.pay',
    'succeeded shop.ship 0.1 replaces 0.0, below u1 0.0 at 5, sent shop.ship',
  ],
  'by a group: the parent belongs to the receipt': [
    [
      ...inTurn(1, received(family('u1')), started()),
      ...inTurn(3, received({ uuid: 'm1', ...NEXT }), started({ uuid: 'm1' })),
      ...inTurn(5, received({ name: 'celery.accumulate', ...family('u1', 'm1') })),
      ...inTurn(6, succeeded({ uuid: 'm1' }), started(), succeeded()),
    ],
    'replaced shop.pay 0.0 at 5, sent undefined',
    'succeeded shop.ship 0.0, below u1 0.0 at 6, sent undefined',
    'succeeded celery.accumulate 0.1 replaces 0.0, below m1 0.0 at 8, sent undefined',
  ],
};

for (const [how, [story, ...expected]] of Object.entries(REPLACED)) {
  test(`a task that replaces itself ${how}`, () => {
    const reported = runsOf(story);
    assert.deepEqual(
      reported.map((run) => `${withParent(run)} at ${(run.endedMs ?? 0) - T0_MS}, sent ${run.sent?.name}`),
      expected,
    );
    assert.ok(reported.every(({ sent: sending, isSentNew }) => isSentNew === (sending !== undefined)));
  });
}

/** A parent, its child and its grandchild. */
const GENERATIONS: Story = ['u1', 'u2', 'u3'].flatMap((uuid, index) => {
  const etaMs = index === 1 ? T0_MS + 5_000 : undefined;
  const of = { uuid, name: `gen.${index}`, etaMs, ...family('r1', index === 0 ? '' : `u${index}`) };
  return inTurn(10 * index, received(of), started({ uuid }), succeeded({ uuid }));
});

test('whether a task begins a trace is asked once, and those that it sends are in it', () => {
  const asked: NewTask[] = [];
  const again = received({ uuid: 'u2', retries: 1, ...family('r1', 'u1') });
  const reported = runsOf([...GENERATIONS, ...inTurn(40, again, succeeded({ uuid: 'u2' }))], {
    beginsTrace(task) {
      asked.push(task);
      return task.name === 'gen.1';
    },
  });
  assert.deepEqual(
    reported.map((run) => [run.uuid, run.rootId, run.traceRootId, run.beginsTrace, run.parentTraceRootId]),
    [
      ['u1', 'r1', 'r1', false, undefined],
      ['u2', 'r1', 'u2', true, undefined],
      ['u3', 'r1', 'u2', false, undefined],
      ['u2', 'r1', 'u2', true, undefined],
    ],
  );
  assert.deepEqual(asked, [
    { name: 'gen.0', traceRootId: 'r1', delayMs: 0, atMs: T0_MS },
    { name: 'gen.1', traceRootId: 'r1', delayMs: 4_990, atMs: T0_MS + 10 },
    { name: 'gen.2', traceRootId: 'u2', delayMs: 0, atMs: T0_MS + 20 },
  ]);
});

test('a trace within a trace that was cut too is linked to it', () => {
  const reported = runsOf(GENERATIONS, { beginsTrace: () => true });
  assert.deepEqual(
    reported.map(({ traceRootId, parentTraceRootId }) => `${traceRootId} ${parentTraceRootId}`),
    ['u1 undefined', 'u2 u1', 'u3 u2'],
  );
});

test('a child belongs to the run that sent it, however late it is received', () => {
  const child = { uuid: S, name: 'app.ship' };
  const placeOf = (isSentReported: boolean, sentAtMs: number): string => {
    const reported = runsOf([
      ...inTurn(0, received({ uuid: C, ...family(C) }), started({ uuid: C })),
      ...inTurn(100, retried('KeyError', { uuid: C }), received({ uuid: C, retries: 1, ...family(C, C) })),
      ...(isSentReported ? inTurn(sentAtMs, sent({ ...child, ...family(C, C) })) : []),
      ...inTurn(5_000, started({ uuid: C })),
      ...inTurn(6_000, received({ ...child, ...family(C, C) })),
      ...inTurn(6_500, succeeded({ uuid: C })),
      ...inTurn(7_000, succeeded(child)),
    ]);
    const run = reported.find(({ uuid }) => uuid === S);
    return run === undefined ? '' : at(run.parentPlace);
  };
  assert.equal(placeOf(true, 50), '0.0');
  assert.equal(placeOf(true, 4_900), '0.0', 'the second run was received, but had not started');
  assert.equal(placeOf(true, 5_010), '1.0');
  assert.equal(placeOf(false, 0), '1.0');
});

test('a run that was in flight at a restart is in the trace that its child reports', () => {
  const invoice = received({ uuid: I, name: 'app.invoice', ...family(C, S) });
  const ship = received({ uuid: S, name: 'app.ship', ...family(C, C) });
  const ends = [C, S, I].map((uuid) => succeeded({ uuid }));
  assert.deepEqual(
    runsOf(inTurn(0, ship, invoice, ...ends)).map(({ uuid, rootId, traceRootId }) => [
      ...[uuid, rootId, traceRootId],
    ]),
    [C, S, I].map((uuid) => [uuid, C, C]),
  );
  const [run] = runsOf(inTurn(0, invoice, succeeded({ uuid: S })));
  assert.deepEqual([run?.uuid, run?.rootId, run?.parentId, run?.traceRootId], [S, C, '', C]);
});

test('a task with another root than its parent is the first of its trace, linked to where it was sent', () => {
  const sentBy = (parent: string, rootOfParent: string, root: string): readonly unknown[] => {
    const uuid = parent;
    const [, run] = runsOf([
      ...inTurn(0, received({ uuid, name: 'a', ...family(rootOfParent) }), succeeded({ uuid })),
      ...inTurn(10, received({ name: 'b', ...family(root, parent) }), succeeded()),
    ]);
    return [run?.traceRootId, run?.beginsTrace, run?.parentTraceRootId];
  };
  assert.deepEqual(sentBy('p1', 'p1', 'r2'), ['r2', true, sentAt('p1')]);
  assert.deepEqual(sentBy('p1', 'p1', 'u1'), ['u1', true, sentAt('p1')]);
  // Of a root that was given, too, only a hash is kept.
  assert.deepEqual(sentBy('p1', 'r1', 'r2'), ['r2', true, '']);
  assert.deepEqual(sentBy('p1', 'r1', 'r1'), ['r1', false, undefined]);
  assert.deepEqual(sentBy('p1', 'p1', 'p1'), [sentAt('p1'), false, undefined]);
  // Of a parent with protocol 1, no root is told.
  assert.deepEqual(sentBy('p1', '', 'p1'), ['p1', false, undefined]);
});

test('a task that is a root is not asked about', () => {
  const on = listening({}, { beginsTrace: () => true });
  const other = { uuid: 'u2' };
  report(on, inTurn(0, received(family('u1')), succeeded(), received(other), succeeded(other)));
  on.cluster.flush();
  assert.deepEqual(on.asked, []);
  assert.deepEqual(
    runs(on).map(({ traceRootId }) => traceRootId),
    [sentAt('u1'), 'u2'],
  );
});

/** The only run of a task with this root and parent. */
function onlyRun(rootId: string, parentId: string): FinishedRun {
  const [run] = runsOf(inTurn(0, received(family(rootId, parentId)), succeeded()));
  return run ?? assert.fail('it was not told');
}

test('a parent that no event told of is said to be unknown', () => {
  const run = onlyRun('r1', 'eager');
  assert.deepEqual([run.isParentUnknown, at(run.parentPlace)], [true, '0.0']);
});

test('a task with a parent whose root is too long to read, or a uuid of zeros, begins a trace, below none', () => {
  for (const root of ['', '0'.repeat(32), '00000000-0000-0000-0000-000000000000']) {
    const run = onlyRun(root, 'p1');
    assert.deepEqual([run.traceRootId, run.beginsTrace, run.parentTraceRootId], ['u1', true, 'p1']);
  }
});

test('roots and parents may be any texts', () => {
  for (const id of ['__proto__', 'constructor', ' ', '\ud800', 'r'.repeat(255), 'u1']) {
    const run = onlyRun(id, id);
    assert.deepEqual([run.rootId, run.parentId, run.traceRootId], [id, id, id]);
  }
});

test('a sending that is told alone is below the run that sent it', () => {
  const on = listening({}, { delayMaxMs: 1_000 });
  const etaMs = T0_MS + 60_000;
  report(on, [
    ...inTurn(0, received(family('u1')), started(), retried('KeyError')),
    ...inTurn(3, received({ retries: 1, ...family('u1', 'u1') }), started()),
    ...inTurn(5, sent({ uuid: 'u2', etaMs, queue: '', ...family('u1', 'u1') }), succeeded()),
    [20_000, signal('worker-heartbeat')],
  ]);
  on.cluster.collect(T0_MS + 20_000);
  const [reported] = sendings(on);
  assert.deepEqual(
    [reported?.uuid, reported?.rootId, reported && at(reported.parentPlace)],
    ['u2', 'u1', '1.0'],
  );
});

test('the revocation of a task that was never received has the place of its first run', () => {
  const [run] = runsOf(inTurn(0, sent(family('r1', 'p1')), revoked()));
  assert.equal(run && withParent(run), 'revoked shop.pay 0.0, below p1 0.0');
  assert.deepEqual([run?.rootId, run?.sent?.sentMs, run?.isSentNew], ['r1', T0_MS, true]);
});

for (const worker of ['w1@shop', 'w2@shop']) {
  test(`a retry that waits is not what ends if the run before it was missed: on ${worker}`, () => {
    const reported = runsOf([
      // Its first run began before anything was heard.
      [0, received({ retries: 1, etaMs: T0_MS + 500 })],
      [5, retried('Busy', { hostname: worker })],
      [510, started()],
      [600, received({ retries: 2, etaMs: T0_MS + 1_200 })],
      [610, retried('Busy')],
      [1_210, started()],
      [1_300, failed('Busy')],
    ]);
    assert.deepEqual(reported.map(briefly), [
      'retried shop.pay 0.0',
      'retried shop.pay 1.0 retry_of 0.0',
      'failed shop.pay 2.0 retry_of 1.0',
    ]);
  });
}

test('an end that is told twice is no run before the retry that waits', () => {
  const reported = runsOf([
    ...inTurn(0, received(), started(), received({ retries: 1, etaMs: T0_MS + 500 })),
    ...inTurn(3, retried('Busy'), retried('Busy')),
    [510, started()],
    [600, succeeded()],
  ]);
  assert.deepEqual(reported.map(briefly), [
    'retried shop.pay 0.0',
    'retried shop.pay 1.1 redelivery_of 1.0',
    'succeeded shop.pay 1.0 retry_of 0.0',
  ]);
});
