/** What finished runs tell of the tree of a workflow: places, the runs before, parents, roots and traces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Extras } from '../../../src/celery/event.ts';
import type { NewTask } from '../../../src/tracer/ancestry/finished.ts';
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

const [C, S, I] = [
  '90817c7f-6c28-4fe5-aa46-7adb16d15d7d',
  '9ef3f114-760a-4af7-9064-83c28e3b001e',
  '792678ed-6840-42b7-b65a-a08cfc471cf0',
];

function family(rootId: string, parentId = ''): { readonly extras: Extras } {
  return { extras: { lineage: { rootId, parentId } } };
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

test('a chain with a retry: each run knows which run sent it', () => {
  const reported = runsOf(CHAIN);
  assert.deepEqual(
    reported.map((run) => [briefly(run), run.parentId, at(run.parentPlace), run.isSentNew]),
    [
      ['succeeded app.charge 0.0', '', '0.0', true],
      ['retried app.ship 0.0', C, '0.0', true],
      ['succeeded app.ship 1.0 retry_of 0.0', C, '0.0', false],
      ['failed app.invoice 0.0', S, '1.0', true],
    ],
  );
  assert.ok(reported.every((run) => run.rootId === C && run.traceRootId === C && !run.beginsTrace));
  const [charge, , ship] = reported;
  assert.deepEqual([charge?.sent?.sentMs, charge?.receivedMs], [T0_MS + 950.956, T0_MS + 949.424]);
  assert.ok(Math.abs((charge?.waitTimeS ?? 0) - 0.023585) < 1e-6);
  assert.ok(Math.abs((ship?.waitTimeS ?? 0) - 0.001406) < 1e-6);
  // Only the retry has a sending of its own.
  assert.deepEqual(
    reported.map(({ retrySent }) => [retrySent?.sentMs, retrySent?.retries, retrySent?.sender]),
    [[], [], [T0_MS + 1223.766, 1, 'gen4711@shop'], []].map((facts) =>
      [0, 1, 2].map((index) => facts[index]),
    ),
  );
});

test('an id that is sent again in another workflow is in the trace of that, below its parent there', () => {
  const [A, B] = [
    { uuid: 'a', name: 'app.order' },
    { uuid: 'b', name: 'app.order' },
  ];
  const run = (root: string, atMs: number): Story => [
    [atMs, sent({ uuid: 'x', name: 'app.pay', ...family(root, root) })],
    [atMs + 1, received({ uuid: 'x', name: 'app.pay', ...family(root, root) })],
    [atMs + 2, started({ uuid: 'x' })],
    [atMs + 3, sent({ uuid: `of ${root}`, name: 'app.mail', ...family(root, 'x') })],
    [atMs + 4, succeeded({ uuid: 'x' })],
    [atMs + 5, received({ uuid: `of ${root}`, name: 'app.mail', ...family(root, 'x') })],
    [atMs + 6, succeeded({ uuid: `of ${root}` })],
  ];
  const order = (task: typeof A, atMs: number): Story => [
    [atMs, received({ ...task, ...family(task.uuid) })],
    [atMs + 1, succeeded({ uuid: task.uuid })],
  ];
  const story: Story = [...order(A, 0), ...run('a', 10), ...order(B, 100), ...run('b', 110)];
  for (const isSentTold of [true, false]) {
    const reported = runsOf(story.filter(([, { type }]) => isSentTold || type !== 'task-sent'));
    assert.deepEqual(
      reported.map((of) => [briefly(of), of.traceRootId, of.beginsTrace, of.parentId, at(of.parentPlace)]),
      [
        ['succeeded app.order 0.0', sentAt('a'), false, '', '0.0'],
        ['succeeded app.pay 0.0', sentAt('a'), false, 'a', '0.0'],
        ['succeeded app.mail 0.0', sentAt('a'), false, 'x', '0.0'],
        ['succeeded app.order 0.0', sentAt('b', 100), false, '', '0.0'],
        ['succeeded app.pay 0.1', sentAt('b', 100), false, 'b', '0.0'],
        ['succeeded app.mail 0.0', sentAt('b', 100), false, 'x', '0.1'],
      ],
    );
    assert.equal(reported[4]?.sent?.sentMs, isSentTold ? T0_MS + 110 : undefined);
  }
});

test('without task-sent it is the same tree', () => {
  const reported = runsOf(CHAIN.filter(([, { type }]) => type !== 'task-sent'));
  assert.deepEqual(
    reported.map((run) => [briefly(run), run.parentId, at(run.parentPlace), run.sent]),
    [
      ['succeeded app.charge 0.0', '', '0.0', undefined],
      ['retried app.ship 0.0', C, '0.0', undefined],
      ['succeeded app.ship 1.0 retry_of 0.0', C, '0.0', undefined],
      ['failed app.invoice 0.0', S, '1.0', undefined],
    ],
  );
});

test('the receipt of a retry may precede the end of the run before', () => {
  const reported = runsOf([
    [0, received()],
    [1, started()],
    [2, received({ retries: 1, ...family('u1', 'u1') })],
    [3, retried('KeyError')],
    [4, started()],
    [5, received({ retries: 2, ...family('u1', 'u1') })],
    [6, retried('KeyError')],
    [7, started()],
    [8, failed('KeyError')],
  ]);
  assert.deepEqual(reported.map(briefly), [
    'retried shop.pay 0.0',
    'retried shop.pay 1.0 retry_of 0.0',
    'failed shop.pay 2.0 retry_of 1.0',
  ]);
  assert.deepEqual(
    reported.map(({ parentId }) => parentId),
    ['', 'u1', 'u1'],
  );
  assert.deepEqual(
    reported.map(({ isParentUnknown = false }) => isParentUnknown),
    [false, false, false],
  );
});

test('deliveries are counted apart for each number of retries', () => {
  const delivered = (retries: number, atMs: number): Story => [
    [atMs, received({ retries })],
    [atMs + 1, started()],
    [atMs + 2, rejected(true)],
  ];
  const retries = [0, 0, 1, 1, 1, 0, 1, 2, 0];
  const reported = runsOf(retries.flatMap((each, index) => delivered(each, index * 10)));
  assert.deepEqual(reported.map(at), ['0.0', '0.1', '1.0', '1.1', '1.2', '0.2', '1.3', '2.0', '0.3']);
});

test('a task that was retried twice and is then replaced, and retried again, has no place twice', () => {
  const delivered = (name: string, retries: number, atMs: number): Story => [
    [atMs, received({ name, retries })],
    [atMs + 1, started()],
    [atMs + 2, retried('KeyError')],
  ];
  const retries = [0, 1, 2, 0, 1, 2, 3, 1];
  const reported = runsOf(
    retries.flatMap((each, index) => delivered(index < 3 ? 'shop.pay' : 'shop.ship', each, index * 10)),
  );
  assert.deepEqual(reported.map(at), ['0.0', '1.0', '2.0', '0.1', '1.1', '2.1', '3.0', '1.2']);
});

test('a run whose receipt was missed is the next one', () => {
  const reported = runsOf([
    [0, received()],
    [1, started()],
    [2, retried('KeyError')],
    [3, started()],
    [4, rejected(true)],
    [5, succeeded()],
  ]);
  assert.deepEqual(reported.map(briefly), [
    'retried shop.pay 0.0',
    'requeued shop.pay 1.0 retry_of 0.0',
    'succeeded shop.pay 1.1 redelivery_of 1.0',
  ]);
});

test('after a restart of the bridge, the place of a retry is as before', () => {
  const [run] = runsOf([
    [0, received({ retries: 2 })],
    [1, succeeded()],
  ]);
  assert.equal(run && briefly(run), 'succeeded shop.pay 2.0 retry_of 1.0');
});

test('after a restart of the bridge, so is that of a task that replaced another', () => {
  const [run] = runsOf([
    [0, sent({ name: 'shop.ship', ...family('u0', 'u1') })],
    [1, received({ name: 'shop.ship', ...family('u0', 'u1') })],
    [2, succeeded()],
  ]);
  assert.equal(run && briefly(run), 'succeeded shop.ship 0.1 replaces 0.0');
});

test('after a restart of the bridge, a task that is replaced by a chain is not below itself', () => {
  const reported = runsOf([
    [1, received({ uuid: 'm1', name: 'shop.pack', ...family('u0', 'u1') })],
    [2, started({ uuid: 'm1' })],
    [3, received({ uuid: 'm2', name: 'shop.ship', ...family('u0', 'm1') })],
    [4, succeeded({ uuid: 'm1' })],
    [5, started({ uuid: 'm2' })],
    [6, received({ uuid: 'u1', name: 'shop.mail', ...family('u0', 'm2') })],
    [7, succeeded({ uuid: 'm2' })],
    [8, started({ uuid: 'u1' })],
    [9, succeeded({ uuid: 'u1' })],
  ]);
  assert.deepEqual(
    reported.map((run) => [briefly(run), run.parentId, at(run.parentPlace)]),
    [
      ['succeeded shop.pack 0.0', 'u1', '0.0'],
      ['succeeded shop.ship 0.0', 'm1', '0.0'],
      ['succeeded shop.mail 0.1 replaces 0.0', 'm2', '0.0'],
    ],
  );
});

test('a retry that is over before the run that sent it is told: the sending has its own ancestry', () => {
  const other = { hostname: 'w2@shop-b' };
  const on = listening();
  report(on, [
    [0, sent(family('u1'))],
    [1, received(family('u1'))],
    [2, started()],
    [3, sent({ retries: 1, ...family('u1', 'u1') })],
    [4, received({ retries: 1, ...other, ...family('u1', 'u1') })],
    [6, started(other)],
    [7, succeeded(other)],
  ]);
  on.cluster.collect(T0_MS + 10_000);
  report(on, [[10_001, retried('KeyError')]]);
  on.cluster.flush();
  const [first, second] = runs(on);
  assert.equal(first && briefly(first), 'succeeded shop.pay 1.0 retry_of 0.0');
  assert.deepEqual([first?.isSentNew, first?.parentId, first?.sentAncestry?.parentId], [true, 'u1', '']);
  assert.deepEqual([second?.isSentNew, second?.sentAncestry], [false, undefined]);
});

test('a sending that is told after the first run and before the retry makes no second root', () => {
  const on = listening();
  report(on, [
    [1, received(family('u1'))],
    [2, started()],
    [4, received({ retries: 1, ...family('u1', 'u1') })],
    [5, retried('KeyError')],
    [6, started()],
  ]);
  on.cluster.collect(T0_MS + 10_000);
  report(on, [
    [10_001, sent(family('u1'))],
    [10_002, succeeded()],
  ]);
  on.cluster.flush();
  assert.deepEqual(
    runs(on).map((run) => [briefly(run), run.sent]),
    [
      ['retried shop.pay 0.0', undefined],
      ['succeeded shop.pay 1.0 retry_of 0.0', undefined],
    ],
  );
});

test('a task that replaces itself by another: the run ends with the receipt of the next one', () => {
  const reported = runsOf([
    [0, sent(family('u1'))],
    [1, received(family('u1'))],
    [2, started()],
    [3, sent({ name: 'shop.ship', ...family('u1', 'u1') })],
    [4, received({ name: 'shop.ship', ...family('u1', 'u1') })],
    [5, started()],
    [6, succeeded()],
  ]);
  assert.deepEqual(
    reported.map((run) => [briefly(run), run.endedMs, run.sent?.name, run.isSentNew, run.parentId]),
    [
      ['replaced shop.pay 0.0', T0_MS + 4, 'shop.pay', true, ''],
      ['succeeded shop.ship 0.1 replaces 0.0', T0_MS + 6, 'shop.ship', true, 'u1'],
    ],
  );
});

test('a task whose sending was not told does not take that of the task that soon replaces it', () => {
  const reported = runsOf([
    [1, received(family('u0', 'u0'))],
    [2, started()],
    [3, sent({ name: 'shop.ship', ...family('u0', 'u1') })],
    [4, received({ name: 'shop.ship', ...family('u0', 'u1') })],
    [5, started()],
    [6, succeeded()],
  ]);
  assert.deepEqual(
    reported.map((run) => [briefly(run), run.sent?.name, run.isSentNew, run.parentId]),
    [
      ['replaced shop.pay 0.0', undefined, false, 'u0'],
      ['succeeded shop.ship 0.1 replaces 0.0', 'shop.ship', true, 'u1'],
    ],
  );
});

test('a task that replaces itself by a group: the parent belongs to the receipt', () => {
  const reported = runsOf([
    [1, received(family('u1'))],
    [2, started()],
    [3, received({ uuid: 'm1', name: 'shop.ship', ...family('u1', 'u1') })],
    [4, started({ uuid: 'm1' })],
    [5, received({ name: 'celery.accumulate', ...family('u1', 'm1') })],
    [6, succeeded({ uuid: 'm1' })],
    [7, started()],
    [8, succeeded()],
  ]);
  assert.deepEqual(
    reported.map((run) => [briefly(run), run.parentId, at(run.parentPlace)]),
    [
      ['replaced shop.pay 0.0', '', '0.0'],
      ['succeeded shop.ship 0.0', 'u1', '0.0'],
      ['succeeded celery.accumulate 0.1 replaces 0.0', 'm1', '0.0'],
    ],
  );
});

test('a task in the pool solo: what it sends arrives before its own receipt', () => {
  const on = listening();
  report(on, [
    [0, sent(family('u1'))],
    [3, sent({ name: 'shop.ship', ...family('u1', 'u1') })],
    [1, received(family('u1'))],
    [2, started()],
    [4, received({ name: 'shop.ship', ...family('u1', 'u1') })],
    [5, succeeded({ runtimeS: 0.001 })],
  ]);
  on.cluster.flush();
  assert.deepEqual(
    runs(on).map((run) => [briefly(run), run.sent?.name]),
    [
      ['replaced shop.pay 0.0', 'shop.pay'],
      ['succeeded shop.ship 0.1 replaces 0.0', 'shop.ship'],
    ],
  );
});

/** A parent, its child and its grandchild. */
const GENERATIONS: Story = ['u1', 'u2', 'u3'].flatMap(
  (uuid, index): Story => [
    [
      10 * index,
      received({
        uuid,
        name: `gen.${index}`,
        etaMs: index === 1 ? T0_MS + 5_000 : undefined,
        ...family('r1', index === 0 ? '' : `u${index}`),
      }),
    ],
    [10 * index + 1, started({ uuid })],
    [10 * index + 2, succeeded({ uuid })],
  ],
);

test('whether a task begins a trace is asked once, and those that it sends are in it', () => {
  const asked: NewTask[] = [];
  const story: Story = [
    ...GENERATIONS,
    [40, received({ uuid: 'u2', retries: 1, ...family('r1', 'u1') })],
    [41, succeeded({ uuid: 'u2' })],
  ];
  const reported = runsOf(story, {
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
    reported.map(({ traceRootId, parentTraceRootId }) => [traceRootId, parentTraceRootId]),
    [
      ['u1', undefined],
      ['u2', 'u1'],
      ['u3', 'u2'],
    ],
  );
});

test('a child belongs to the run that sent it, however late it is received', () => {
  const child = { uuid: S, name: 'app.ship' };
  const placeOf = (isSentReported: boolean, sentAtMs: number): string => {
    const reported = runsOf([
      [0, received({ uuid: C, ...family(C) })],
      [1, started({ uuid: C })],
      [100, retried('KeyError', { uuid: C })],
      [101, received({ uuid: C, retries: 1, ...family(C, C) })],
      ...(isSentReported ? [[sentAtMs, sent({ ...child, ...family(C, C) })] as const] : []),
      [5_000, started({ uuid: C })],
      [6_000, received({ ...child, ...family(C, C) })],
      [6_500, succeeded({ uuid: C })],
      [7_000, succeeded(child)],
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
  const reported = runsOf([
    [0, received({ uuid: S, name: 'app.ship', ...family(C, C) })],
    [1, received({ uuid: I, name: 'app.invoice', ...family(C, S) })],
    [2, succeeded({ uuid: C })],
    [3, succeeded({ uuid: S })],
    [4, succeeded({ uuid: I })],
  ]);
  assert.deepEqual(
    reported.map(({ uuid, rootId, traceRootId }) => [uuid, rootId, traceRootId]),
    [C, S, I].map((uuid) => [uuid, C, C]),
  );
  assert.deepEqual(
    runsOf([
      [0, received({ uuid: I, name: 'app.invoice', ...family(C, S) })],
      [1, succeeded({ uuid: S })],
    ]).map(({ uuid, rootId, parentId, traceRootId }) => [uuid, rootId, parentId, traceRootId]),
    [[S, C, '', C]],
  );
});

test('a task with another root than its parent is the first of its trace, linked to where it was sent', () => {
  const sentBy = (parent: string, rootOfParent: string, root: string): readonly unknown[] => {
    const [, run] = runsOf([
      [0, received({ uuid: parent, name: 'a', ...family(rootOfParent) })],
      [1, succeeded({ uuid: parent })],
      [10, received({ name: 'b', ...family(root, parent) })],
      [11, succeeded()],
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
  report(on, [
    [0, received(family('u1'))],
    [1, succeeded()],
    [2, received({ uuid: 'u2' })],
    [3, succeeded({ uuid: 'u2' })],
  ]);
  on.cluster.flush();
  assert.deepEqual(on.asked, []);
  assert.deepEqual(
    runs(on).map(({ traceRootId }) => traceRootId),
    [sentAt('u1'), 'u2'],
  );
});

test('a parent that no event told of is said to be unknown', () => {
  const [run] = runsOf([
    [0, received(family('r1', 'eager'))],
    [1, succeeded()],
  ]);
  assert.deepEqual([run?.isParentUnknown, run && at(run.parentPlace)], [true, '0.0']);
});

test('a task with a parent whose root is too long to read begins a trace, below none', () => {
  const [run] = runsOf([
    [0, received(family('', 'p1'))],
    [1, succeeded()],
  ]);
  assert.deepEqual([run?.traceRootId, run?.beginsTrace, run?.parentTraceRootId], ['u1', true, 'p1']);
});

test('so does one whose root is a uuid of zeros, which is no id of a trace', () => {
  for (const zeros of ['0'.repeat(32), '00000000-0000-0000-0000-000000000000']) {
    const [run] = runsOf([
      [0, received(family(zeros, 'p1'))],
      [1, succeeded()],
    ]);
    assert.deepEqual([run?.traceRootId, run?.beginsTrace, run?.parentTraceRootId], ['u1', true, 'p1']);
  }
});

test('roots and parents may be any texts', () => {
  for (const id of ['__proto__', 'constructor', ' ', '\ud800', 'r'.repeat(255), 'u1']) {
    const [run] = runsOf([
      [0, received(family(id, id))],
      [1, succeeded()],
    ]);
    assert.deepEqual([run?.rootId, run?.parentId, run?.traceRootId], [id, id, id]);
  }
});

test('a sending that is told alone is below the run that sent it', () => {
  const on = listening({}, { delayMaxMs: 1_000 });
  report(on, [
    [0, received({ ...family('u1') })],
    [1, started()],
    [2, retried('KeyError')],
    [3, received({ retries: 1, ...family('u1', 'u1') })],
    [4, started()],
    [5, sent({ uuid: 'u2', etaMs: T0_MS + 60_000, queue: '', ...family('u1', 'u1') })],
    [6, succeeded()],
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
  const [run] = runsOf([
    [0, sent(family('r1', 'p1'))],
    [1, revoked()],
  ]);
  assert.deepEqual(
    [run && briefly(run), run?.parentId, run?.isSentNew],
    ['revoked shop.pay 0.0', 'p1', true],
  );
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
    [0, received()],
    [1, started()],
    [2, received({ retries: 1, etaMs: T0_MS + 500 })],
    [3, retried('Busy')],
    [4, retried('Busy')],
    [510, started()],
    [600, succeeded()],
  ]);
  assert.deepEqual(reported.map(briefly), [
    'retried shop.pay 0.0',
    'retried shop.pay 1.1 redelivery_of 1.0',
    'succeeded shop.pay 1.0 retry_of 0.0',
  ]);
});
