/** Runs whose workers reported the spans in which they ran them: ours are in the same traces, below the right parents. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processSpanId, sendSpanId } from '../../src/tracer/span-id.ts';
import type { Tracer } from '../../src/tracer/tracer.ts';
import { attributesOf, lone, onlySpan, PARENT, run, sent, tracer, UUID } from './finished-facts.ts';

const WORKER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const ABOVE = '5fb397be34d26b51';
const FIRST = { retries: 0, delivery: 0 };
const OWN_SPAN = processSpanId(UUID, FIRST);

const reported = (flags: '00' | '01', parentSpanId = '') => ({
  workerSpan: { traceparent: `00-${WORKER.traceId}-${WORKER.spanId}-${flags}`, parentSpanId },
});
const joining = (settings: Parameters<typeof tracer>[0] = {}): Tracer => tracer({ join: true, ...settings });
const PARENT_BASED = {
  kind: 'parent_based',
  root: { kind: 'always_on' },
  remoteSampled: { kind: 'always_on' },
  remoteNotSampled: { kind: 'always_off' },
} as const;

test('a span is below that of the worker, without a send span of its own; records have the ids of the worker’s', () => {
  const { context, isKept, spans } = joining().trace(run({ ...reported('01', ABOVE), sent: sent() }));
  assert.deepEqual(context, { ...WORKER, flags: 1 });
  assert.equal(isKept, true);
  const { traceId, spanId, parentSpanId, isParentRemote, links } = onlySpan(spans);
  assert.deepEqual([traceId, spanId, parentSpanId], [WORKER.traceId, OWN_SPAN, WORKER.spanId]);
  assert.deepEqual([isParentRemote, links], [true, []]);
});

test('without a sampler of its own, the span of the worker decides whether ours is kept', () => {
  for (const [flags, count] of [
    ['01', 1],
    ['00', 0],
  ] as const) {
    const { isKept, spans } = joining({ sampler: PARENT_BASED }).trace(run(reported(flags)));
    assert.deepEqual([isKept, spans.length], [count === 1, count]);
  }
});

test('whether the span of the worker is kept is the worker’s decision, whatever becomes of ours', () => {
  const dropped = joining().trace(run(reported('00')));
  assert.deepEqual([dropped.isKept, dropped.spans.length], [false, 1]);
  for (const settings of [
    { sampler: { kind: 'always_off' } as const },
    { spans: 'beyond_workers' as const },
  ]) {
    const { context, isKept, spans } = joining(settings).trace(run(reported('01')));
    assert.deepEqual([context?.spanId, isKept, spans.length], [WORKER.spanId, true, 0]);
  }
});

test('the span of a killed process is missing, so ours takes its place below its parent', () => {
  const lost = { outcome: 'lost', endedMs: undefined } as const;
  for (const spans of ['all', 'beyond_workers'] as const) {
    const parentOf = (parentSpanId: string) => {
      const traced = joining({ spans }).trace(run({ ...lost, ...reported('01', parentSpanId) }));
      const span = onlySpan(traced.spans);
      assert.deepEqual([span.traceId, traced.context?.spanId], [WORKER.traceId, OWN_SPAN]);
      return span.parentSpanId;
    };
    assert.equal(parentOf(ABOVE), ABOVE);
    for (const none of ['', '0'.repeat(16), 'x', 'ABCDEF0123456789'])
      assert.equal(parentOf(none), WORKER.spanId);
  }
});

test('a run without a span of its worker is in the trace that was reported for its parent', () => {
  const workersTraceparent = `00-${WORKER.traceId}-${WORKER.spanId}-01`;
  const child = run({
    parentId: PARENT,
    rootId: PARENT,
    outcome: 'revoked',
    workersTraceparent,
    sent: sent(),
  });
  const all = onlySpan(joining().trace(child).spans);
  assert.deepEqual([all.traceId, all.parentSpanId], [WORKER.traceId, processSpanId(PARENT, FIRST)]);
  const beyond = onlySpan(joining({ spans: 'beyond_workers' }).trace(child).spans);
  assert.deepEqual([beyond.traceId, beyond.parentSpanId], [WORKER.traceId, WORKER.spanId]);
  const waiting = onlySpan(
    joining().trace(lone({ parentId: PARENT, rootId: PARENT, workersTraceparent })).spans,
  );
  assert.deepEqual(
    [waiting.traceId, waiting.spanId, waiting.parentSpanId],
    [WORKER.traceId, sendSpanId(UUID, sent()), processSpanId(PARENT, FIRST)],
  );
});

test('a task that begins a trace links to the run that sent it, in the trace of the workers', () => {
  const workersTraceparent = `00-${WORKER.traceId}-${WORKER.spanId}-01`;
  const apart = run({
    parentId: PARENT,
    rootId: PARENT,
    traceRootId: UUID,
    beginsTrace: true,
    workersTraceparent,
  });
  const { traceId, parentSpanId, links } = onlySpan(joining().trace(apart).spans);
  assert.deepEqual([traceId, parentSpanId], [UUID.replaceAll('-', ''), '']);
  const attributes = { 'celery.link': 'sent_by' };
  assert.deepEqual(links, [{ traceId: WORKER.traceId, spanId: processSpanId(PARENT, FIRST), attributes }]);
});

test('the ids of the root and the parent are attributes, since the trace does not show them', () => {
  const span = onlySpan(joining().trace(run({ parentId: PARENT, rootId: PARENT, ...reported('01') })).spans);
  const { 'celery.task.root_id': root, 'celery.task.parent_id': parent } = attributesOf(span);
  assert.deepEqual([root, parent], [PARENT, PARENT]);
});

test('without joining, or if it is no traceparent, a span that a worker reports moves none of ours', () => {
  const traceparents = ['', 'x', `00-${WORKER.traceId}-${'0'.repeat(16)}-01`, `ff-${WORKER.traceId}`];
  const cases = [
    ...traceparents.map((traceparent) => [joining(), { traceparent, parentSpanId: ABOVE }] as const),
    [tracer(), reported('01').workerSpan] as const,
  ];
  for (const [of, workerSpan] of cases) {
    const { traceId, spanId, parentSpanId } = onlySpan(of.trace(run({ workerSpan })).spans);
    assert.deepEqual([traceId, spanId, parentSpanId], [UUID.replaceAll('-', ''), OWN_SPAN, '']);
  }
});

test('a reported parent that is our own span, whose id can be computed, makes no span its own parent', () => {
  const traceparent = `00-${WORKER.traceId}-${OWN_SPAN}-01`;
  for (const of of [
    { workerSpan: { traceparent, parentSpanId: '' } },
    { outcome: 'lost', workerSpan: { ...reported('01').workerSpan, parentSpanId: OWN_SPAN } },
    { rootId: traceparent, traceRootId: traceparent },
  ] as const) {
    const { traceId, parentSpanId, isParentRemote } = onlySpan(joining().trace(run(of)).spans);
    assert.deepEqual([traceId, parentSpanId, isParentRemote], [WORKER.traceId, '', false]);
  }
});
