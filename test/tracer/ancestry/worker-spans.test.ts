/** In which spans workers told that they run tasks: each run is told its own, and nothing that is counted changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../../src/celery/event.ts';
import { FIRST_PLACE } from '../../../src/tracer/ancestry/run-places.ts';
import { WorkerSpans } from '../../../src/tracer/ancestry/worker-spans.ts';
import {
  received,
  retried,
  revoked,
  started,
  succeeded,
  T0_MS,
  traced,
  watch,
} from '../../cluster/events.ts';
import { at, listening, report, runs, runsOf, type Story } from '../../cluster/listening.ts';
import { inTurn } from './in-turn.ts';

const spansOf = (story: Story): readonly (readonly [place: string, span: string | undefined])[] =>
  runsOf(story).map((run) => [at(run), run.workerSpan?.traceparent]);

test('each run is told in which span its worker ran it, also of a task that is retried at once', () => {
  const story: Story = [
    [0, received()],
    ...inTurn(5, started(), traced()),
    ...inTurn(100, received({ retries: 1 }), retried('TimeoutError')),
    ...inTurn(105, traced({ retries: 1, traceparent: 'span 2' }), started()),
    [200, succeeded()],
  ];
  assert.deepEqual(spansOf(story), [
    ['0.0', 'span 1'],
    ['1.0', 'span 2'],
  ]);
  const unknown = story.filter(([, event]) => event.type !== 'task-traced' || event.retries === 1);
  assert.deepEqual(spansOf(unknown), [
    ['0.0', undefined],
    ['1.0', 'span 2'],
  ]);
});

test('a run that its worker does not tell of has none, and takes none of another worker or delivery', () => {
  const other = { hostname: 'w2@shop', pid: 20 };
  const run: Story = [
    [0, received()],
    [5, started()],
  ];
  assert.deepEqual(spansOf([...run, [6, traced({ hostname: 'w2@shop' })], [200, succeeded()]]), [
    ['0.0', undefined],
  ]);
  // It is lost, and delivered to another worker.
  const again: Story = [
    [1000, received(other)],
    ...inTurn(1005, started(other), traced({ hostname: 'w2@shop', traceparent: 'span 2' })),
    [1200, succeeded(other)],
  ];
  assert.deepEqual(spansOf([...run, [6, traced()], ...again]).at(-1), ['0.1', 'span 2']);
});

test('a run that is delivered again to a worker of the same name takes no span of the run that died', () => {
  const again = { pid: 18 };
  const story: Story = [
    [0, received()],
    ...inTurn(5, started(), traced()),
    [10_000, received(again)],
    [10_005, started(again)],
    [10_200, succeeded(again)],
  ];
  assert.deepEqual(spansOf(story).at(-1), ['0.1', undefined]);
  assert.deepEqual(
    spansOf([...story.slice(0, -1), [10_006, traced({ traceparent: 'span 2' })], ...story.slice(-1)]).at(-1),
    ['0.1', 'span 2'],
  );
});

test('a span told after a run has ended, or of an unknown task, is nobody’s', () => {
  assert.deepEqual(
    spansOf([
      [0, received()],
      [5, started()],
      [100, succeeded()],
      ...inTurn(400, traced(), traced({ uuid: 'nobody' })),
    ]),
    [['0.0', undefined]],
  );
});

test('nothing that is observed, and no worker, changes by such an event', () => {
  const run: readonly CeleryEvent[] = [received(), started(), succeeded()];
  const [without, withOne] = [watch(), watch()];
  for (const [index, event] of run.entries()) {
    const timestampMs = T0_MS + index * 10;
    for (const on of [without, withOne])
      on.cluster.apply({ ...event, timestampMs, clock: index }, timestampMs);
    withOne.cluster.apply(traced({ timestampMs, pid: 99 }), timestampMs);
  }
  for (const on of [without, withOne]) on.cluster.flush();
  assert.deepEqual(withOne.observed, without.observed);
  assert.deepEqual(withOne.cluster.tables(), without.cluster.tables());
});

test('what is told and never asked for is bounded, and freed with its task', () => {
  const spans = new WorkerSpans();
  for (let task = 0; task < 30_000; task += 1) spans.add(task, traced());
  assert.equal(spans.leftOut, 10_000);
  assert.ok(spans.bytes <= spans.bytesMax);
  for (let task = 0; task < 30_000; task += 1) spans.forget(task);
  assert.equal(spans.bytes, 0);
  for (let count = 0; count < 100; count += 1) spans.add(7, traced());
  assert.equal(spans.leftOut, 10_000 + 92);
  const run = {
    run: { hasStarted: false, plausibleSinceMs: undefined, instance: { nodename: 'w1@shop' } },
    place: FIRST_PLACE,
  };
  const end = { endedMs: undefined };
  for (let count = 0; count < 8; count += 1) assert.equal(spans.take(7, run, end)?.traceparent, 'span 1');
  assert.deepEqual([spans.take(7, run, end), spans.bytes], [undefined, 0]);
});

test('a hostile flood of spans of one task makes no run wait', () => {
  const on = listening();
  report(on, [
    ...inTurn(0, received(), started()),
    ...Array.from({ length: 1000 }, (_, index) => [2, traced({ traceparent: `span ${index}` })] as const),
    [500, succeeded()],
  ]);
  on.cluster.flush();
  assert.equal(runs(on)[0]?.workerSpan?.traceparent, 'span 0');
  assert.equal(on.cluster.beyondFixedBounds(), 992);
});

const SPAN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const PARENT = '9ef3f114-760a-4af7-9064-83c28e3b001e';
const CHILD = '0d7a2c2e-7a5c-4f0c-9a4e-1f2f3a4b5c6d';

/** A task, and one that it sends and that is revoked before the end of the first one. */
const parentAndChild = (uuid: string, more: Story = []): Story => [
  [0, received({ uuid, extras: { lineage: { rootId: uuid, parentId: '' } } })],
  [5, started({ uuid })],
  ...more,
  [10, received({ uuid: CHILD, extras: { lineage: { rootId: uuid, parentId: uuid } } })],
  [20, revoked({ uuid: CHILD })],
  [100, succeeded({ uuid })],
];
const traceparentsOf = (story: Story) => runsOf(story).map(({ workersTraceparent }) => workersTraceparent);

test('a task without a span of its worker has the one of the nearest task above it', () => {
  const reported: Story = [[6, traced({ uuid: PARENT, traceparent: SPAN })]];
  assert.deepEqual(traceparentsOf(parentAndChild(PARENT, reported)), [SPAN, SPAN]);
  assert.deepEqual(traceparentsOf(parentAndChild(PARENT)), [undefined, undefined]);
});

test('an id that is no uuid may be used again, so its span is not remembered', () => {
  const reported: Story = [[6, traced({ uuid: 'order-1', traceparent: SPAN })]];
  assert.deepEqual(traceparentsOf(parentAndChild('order-1', reported)), [undefined, undefined]);
});

test('a text that is no traceparent does not hide the one of the task above', () => {
  const story = parentAndChild(PARENT, [[6, traced({ uuid: PARENT, traceparent: SPAN })]]);
  const end = story.findIndex(([, { type }]) => type === 'task-revoked');
  const hostile = story.toSpliced(end, 0, [11, traced({ uuid: CHILD, traceparent: 'x' })]);
  assert.deepEqual(traceparentsOf(hostile), [SPAN, SPAN]);
});

const ROOT = '2d7a2c2e-7a5c-4f0c-9a4e-1f2f3a4b5c6d';

/** A root, the task that it sends, and the task that this one sends. */
const threeTasks = (reported: CeleryEvent): Story => [
  [0, received({ uuid: ROOT, extras: { lineage: { rootId: ROOT, parentId: '' } } })],
  [10, received({ uuid: PARENT, name: 'shop.begin', extras: { lineage: { rootId: ROOT, parentId: ROOT } } })],
  [11, reported],
  [20, received({ uuid: CHILD, extras: { lineage: { rootId: ROOT, parentId: PARENT } } })],
  [30, received({ uuid: LAST, extras: { lineage: { rootId: ROOT, parentId: CHILD } } })],
  ...[ROOT, PARENT, CHILD, LAST].map((uuid, index) => [40 + index, succeeded({ uuid })] as const),
];
const LAST = '1d7a2c2e-7a5c-4f0c-9a4e-1f2f3a4b5c6d';

test('all tasks below a span that a worker reported are in its trace, not only those that its task sent', () => {
  const story = threeTasks(traced({ uuid: PARENT, traceparent: SPAN }));
  assert.deepEqual(traceparentsOf(story), [undefined, SPAN, SPAN, SPAN]);
});

test('below a task that begins a trace, the span of the root is in another one', () => {
  const story = threeTasks(traced({ uuid: ROOT, traceparent: SPAN }));
  const reported = runsOf(story, { beginsTrace: ({ name }) => name === 'shop.begin' });
  // The task itself needs it for the link to the root.
  const traceparents = reported.map(({ workersTraceparent }) => workersTraceparent);
  assert.deepEqual(traceparents, [SPAN, SPAN, undefined, undefined]);
});
