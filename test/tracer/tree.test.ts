/** Parents and links, each way that Celery tells who sent what. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import type { Span } from '../../src/tracer/span.ts';
import { processSpanId, sendSpanId } from '../../src/tracer/span-id.ts';
import type { TraceSettings } from '../../src/tracer/trace-settings.ts';
import { attributesOf, lone, onlySpan, PARENT, run, sent, T0_MS, tracer, UUID } from './finished-facts.ts';

const FIRST = { retries: 0, delivery: 0 };
const SECOND = { retries: 0, delivery: 1 };
const RETRY = { retries: 1, delivery: 0 };
const ROOT_ID = 'c2e40826-8f3b-4738-9b4f-1f71a28f084e';
const UPSTREAM = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const HEX = UUID.replaceAll('-', '');

function spansOf(of: Partial<FinishedRun>, settings: Partial<TraceSettings> = {}): readonly Span[] {
  return tracer(settings).trace(run(of)).spans;
}

function parentsOf(of: Partial<FinishedRun>, settings: Partial<TraceSettings> = {}): readonly string[] {
  return spansOf(of, settings).map(({ parentSpanId }) => parentSpanId);
}

const SEND = sendSpanId(UUID, { name: 'shop.charge' });
const OWN_FIRST = processSpanId(UUID, FIRST);
const PARENTS_SECOND = processSpanId(PARENT, SECOND);

test('a root', () => {
  assert.deepEqual(parentsOf({}), ['']);
  assert.deepEqual(parentsOf({ sent: sent() }), ['', SEND]);
});

test('below the run of the parent that sent it', () => {
  const child = { rootId: PARENT, parentId: PARENT, parentPlace: SECOND };
  assert.deepEqual(parentsOf(child), [PARENTS_SECOND]);
  assert.deepEqual(parentsOf({ ...child, sent: sent() }), [PARENTS_SECOND, SEND]);
  assert.deepEqual(parentsOf({ ...child, ...RETRY }), [PARENTS_SECOND]);
});

test('runs after the first are below the sending, else below the first', () => {
  for (const place of [SECOND, RETRY]) {
    for (const parentId of ['', UUID]) {
      assert.deepEqual(parentsOf({ ...place, parentId }), [OWN_FIRST]);
      assert.deepEqual(parentsOf({ ...place, parentId, sent: sent(), isSentNew: false }), [SEND]);
    }
  }
});

test('no span is its own parent, and none is above itself', () => {
  assert.deepEqual(parentsOf({ parentId: UUID }), ['']);
  assert.deepEqual(parentsOf({ parentId: UUID, sent: sent() }), ['', SEND]);
  assert.deepEqual(parentsOf({ parentId: UUID, sent: sent(), isSentNew: false }), ['']);
});

test('the sending of a retry that was over first is where the first run is', () => {
  const own = { uuid: UUID, rootId: UUID, parentPlace: FIRST, traceRootId: UUID, beginsTrace: false };
  const retry = { ...RETRY, parentId: UUID, sent: sent() };
  assert.deepEqual(parentsOf({ ...retry, sentAncestry: { ...own, parentId: '' } }), ['', SEND]);
  const child = { ...own, parentId: PARENT, parentPlace: SECOND };
  assert.deepEqual(parentsOf({ ...retry, sentAncestry: child }), [PARENTS_SECOND, SEND]);
});

test('a task that replaces another is below its first run', () => {
  const replacement = { ...SECOND, parentId: UUID, sent: sent({ name: 'shop.other' }) };
  assert.deepEqual(parentsOf(replacement), [OWN_FIRST, sendSpanId(UUID, { name: 'shop.other' })]);
  assert.equal(onlySpan(tracer().trace(lone({ parentId: UUID })).spans).parentSpanId, OWN_FIRST);
  // The result of a group has the id of the task that was replaced, and another parent.
  const accumulated = { ...SECOND, rootId: PARENT, parentId: PARENT, parentPlace: SECOND };
  assert.deepEqual(parentsOf(accumulated), [PARENTS_SECOND]);
});

test('the sending of a retry is below the run that was retried, and the retry beside that', () => {
  const retrySent = sent({ retries: 1, sender: 'w1@h', sentMs: T0_MS + 130 });
  const previous = { ...FIRST, link: 'retry_of' } as const;
  const retry = { ...RETRY, previous, sent: sent(), isSentNew: false, retrySent, receivedMs: T0_MS + 140 };
  const [sending, process] = spansOf(retry);
  assert.deepEqual([sending?.parentSpanId, process?.parentSpanId], [OWN_FIRST, SEND]);
  assert.deepEqual([sending?.kind, sending?.startMs], ['producer', T0_MS + 130]);
  assert.ok(sending !== undefined && ![SEND, OWN_FIRST, process?.spanId].includes(sending.spanId));
  const { 'celery.task.retries': retries, 'messaging.client.id': sender } = attributesOf(sending);
  assert.deepEqual([retries, sender], [1, 'w1@h']);
  // An id that is used again in the same trace may be retried as often again.
  const [again] = spansOf({ ...retry, delivery: 1, previous: { ...SECOND, link: 'retry_of' } });
  assert.deepEqual([again?.kind, again?.parentSpanId], ['producer', processSpanId(UUID, SECOND)]);
  assert.notEqual(again?.spanId, sending.spanId);
  // The first attempt was missed.
  assert.deepEqual(parentsOf({ ...retry, previous: undefined }), [OWN_FIRST, SEND]);
  assert.equal(spansOf(retry, { sendSpans: false }).length, 1);
});

test('links to the run before', () => {
  for (const link of ['retry_of', 'redelivery_of', 'replaces'] as const) {
    const { links } = onlySpan(spansOf({ ...RETRY, previous: { ...FIRST, link } }));
    assert.deepEqual(links, [{ traceId: HEX, spanId: OWN_FIRST, attributes: { 'celery.link': link } }]);
  }
});

test('a root of a joined trace is below the caller, which is another program', () => {
  const [send, process] = spansOf({ rootId: UPSTREAM, sent: sent() }, { join: true });
  assert.deepEqual([send?.parentSpanId, send?.isParentRemote], ['b7ad6b7169203331', true]);
  assert.deepEqual([process?.parentSpanId, process?.isParentRemote], [SEND, false]);
  assert.equal(process?.traceId, '0af7651916cd43dd8448eb211c80319c');
  assert.equal(process?.flags, 1);
  const alone = onlySpan(spansOf({ rootId: UPSTREAM }, { join: true }));
  assert.deepEqual([alone.parentSpanId, alone.isParentRemote], ['b7ad6b7169203331', true]);
  const child = onlySpan(spansOf({ rootId: UPSTREAM, parentId: PARENT }, { join: true }));
  assert.deepEqual([child.parentSpanId, child.isParentRemote], [processSpanId(PARENT, FIRST), false]);
});

test('without spans of sendings, parents are runs', () => {
  const child = { rootId: PARENT, parentId: PARENT, parentPlace: SECOND, sent: sent() };
  assert.deepEqual(parentsOf(child, { sendSpans: false }), [PARENTS_SECOND]);
  assert.equal(tracer({ sendSpans: false }).trace(lone()).isKept, false);
});

test('beyond instrumented workers the only parent is the caller', () => {
  const settings = { spans: 'beyond_workers', join: true } as const;
  const lost = { outcome: 'lost', parentId: PARENT, sent: sent() } as const;
  assert.deepEqual(parentsOf(lost, settings), ['']);
  assert.deepEqual(parentsOf({ ...lost, rootId: UPSTREAM }, settings), ['b7ad6b7169203331']);
  assert.equal(tracer(settings).trace(lone()).isKept, false);
  assert.equal(attributesOf(onlySpan(spansOf(lost, settings)))['celery.task.parent_id'], PARENT);
});

const CUT = {
  rootId: ROOT_ID,
  traceRootId: UUID,
  beginsTrace: true,
  parentId: PARENT,
  parentPlace: SECOND,
} as const;
const SENT_BY = {
  traceId: ROOT_ID.replaceAll('-', ''),
  spanId: PARENTS_SECOND,
  attributes: { 'celery.link': 'sent_by' },
};

test('a task that begins a trace of its own is its root, and links to who sent it', () => {
  const [send, process] = spansOf({ ...CUT, sent: sent() });
  assert.deepEqual([send?.traceId, send?.parentSpanId, send?.links], [HEX, '', [SENT_BY]]);
  assert.deepEqual([process?.traceId, process?.parentSpanId, process?.links], [HEX, SEND, []]);
  for (const span of [send, process, onlySpan(spansOf(CUT))]) {
    assert.ok(span);
    assert.equal(attributesOf(span)['celery.task.root_id'], ROOT_ID);
    assert.equal(attributesOf(span)['celery.task.parent_id'], PARENT);
  }
  const alone = onlySpan(spansOf(CUT));
  assert.deepEqual([alone.parentSpanId, alone.links], ['', [SENT_BY]]);
  const sending = onlySpan(tracer().trace(lone(CUT)).spans);
  assert.deepEqual([sending.traceId, sending.parentSpanId, sending.links], [HEX, '', [SENT_BY]]);
});

test('its other runs do not become roots', () => {
  assert.deepEqual(parentsOf({ ...CUT, ...RETRY }), [OWN_FIRST]);
  assert.deepEqual(parentsOf({ ...CUT, ...RETRY, sent: sent(), isSentNew: false }), [SEND]);
  const previous = { ...FIRST, link: 'replaces' } as const;
  const other = sent({ name: 'shop.other' });
  const accumulated = { ...CUT, ...SECOND, previous, sent: other };
  assert.deepEqual(parentsOf(accumulated), [OWN_FIRST, sendSpanId(UUID, { name: 'shop.other' })]);
});

test('the link knows that the trace of the parent was cut too', () => {
  const { links } = onlySpan(spansOf({ ...CUT, parentTraceRootId: PARENT }));
  assert.deepEqual(links, [{ ...SENT_BY, traceId: PARENT.replaceAll('-', '') }]);
});

test('a cut has no link where the trace of its parent is not known', () => {
  assert.deepEqual(onlySpan(spansOf({ ...CUT, parentTraceRootId: '' })).links, []);
});

test('a task that its parent has put into the trace of another program is below that span', () => {
  const rootId = `00-${HEX}-00f067aa0ba902b7-01`;
  const begins = { ...CUT, rootId, traceRootId: rootId, parentTraceRootId: PARENT };
  const span = onlySpan(tracer({ join: true }).trace(run(begins)).spans);
  assert.deepEqual([span.traceId, span.parentSpanId, span.isParentRemote], [HEX, '00f067aa0ba902b7', true]);
  assert.deepEqual(span.links, [{ ...SENT_BY, traceId: PARENT.replaceAll('-', '') }]);
});

test('a cut never links to itself', () => {
  assert.deepEqual(onlySpan(spansOf({ ...CUT, parentId: UUID })).links, []);
});

test('a cut below another program links to it', () => {
  const cut = { ...CUT, rootId: UPSTREAM, parentId: '' };
  assert.deepEqual(onlySpan(spansOf(cut, { join: true })).links, [
    {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      attributes: { 'celery.link': 'sent_by' },
    },
  ]);
  assert.deepEqual(onlySpan(spansOf(cut)).links, []);
});

test('a child of a cut is in that trace, and is not cut itself', () => {
  const span = onlySpan(spansOf({ rootId: ROOT_ID, traceRootId: PARENT, parentId: PARENT }));
  assert.deepEqual(
    [span.traceId, span.parentSpanId],
    [PARENT.replaceAll('-', ''), processSpanId(PARENT, FIRST)],
  );
  assert.equal(attributesOf(span)['celery.task.root_id'], ROOT_ID);
});
