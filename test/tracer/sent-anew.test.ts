/** A program sends the id of a task again, in another workflow: both traces are whole, and none has a parent in the other. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Span } from '../../src/tracer/span.ts';
import { received, retried, sent, started, succeeded, T0_MS } from '../cluster/events.ts';
import { briefly, listening, report, runs, runsOf, type Story } from '../cluster/listening.ts';
import { inTurn } from './ancestry/in-turn.ts';
import { tracer } from './finished-facts.ts';

function family(rootId: string, parentId: string) {
  return { extras: { lineage: { rootId, parentId } } };
}

/** It is retried once. */
function workflow(rootId: string, parentId: string, atMs: number): Story {
  const X = { uuid: 'x', name: 'app.pay' };
  const first = { ...X, ...family(rootId, parentId) };
  const retry = { ...X, retries: 1, ...family(rootId, parentId || 'x') };
  return [
    ...inTurn(atMs, sent(first), received(first), started(X), sent(retry), retried('KeyError', X)),
    ...inTurn(atMs + 5, received(retry), started(X), succeeded(X)),
  ];
}

function parent(uuid: string, atMs: number): Story {
  return inTurn(atMs, received({ uuid, name: 'app.order', ...family(uuid, '') }), succeeded({ uuid }));
}

const UPSTREAM = ['a', 'b'].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
const STORIES: Readonly<Record<string, Story>> = {
  'below two requests': UPSTREAM.flatMap((root, n) => workflow(root, '', 10_000 * n)),
  'below two tasks': ['a', 'b'].flatMap((uuid, n) => [
    ...parent(uuid, 10_000 * n),
    ...workflow(uuid, uuid, 10_000 * n + 5),
  ]),
};

for (const [where, story] of Object.entries(STORIES)) {
  for (const isSentTold of [true, false]) {
    test(`${where}, ${isSentTold ? 'with' : 'without'} task-sent`, () => {
      const reported = runsOf(story.filter(([, { type }]) => isSentTold || type !== 'task-sent'));
      const made = tracer({ join: true });
      const spans = reported.flatMap((run) => made.trace(run).spans);
      const ids = spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`);
      assert.equal(new Set(ids).size, ids.length, 'an id twice');
      const inTrace = (traceId: string, spanId: string) => ids.includes(`${traceId} ${spanId}`);
      for (const traces of Map.groupBy(spans, ({ traceId }) => traceId).values()) {
        const isTop = ({ parentSpanId, isParentRemote }: Span) => isParentRemote || parentSpanId === '';
        assert.equal(traces.filter(isTop).length, 1);
        for (const span of traces) {
          assert.ok(isTop(span) || inTrace(span.traceId, span.parentSpanId), `${span.name}: an orphan`);
          for (const link of span.links) assert.ok(inTrace(link.traceId, link.spanId), 'a dead link');
        }
      }
      assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 2);
      assert.equal(spans.filter(({ name }) => name === 'process app.pay').length, 4);
    });
  }
}

describe('an id that is used again, as order numbers and keys of cron are', () => {
  const KEY = { uuid: 'order-4711', name: 'app.pay' };
  const UUID = { ...KEY, uuid: '90817c7f-6c28-4fe5-aa46-7adb16d15d7d' };

  /** Its child has another id each time. */
  function use(of: typeof KEY, atMs: number, isSentReported = true): Story {
    const child = { uuid: `child-${atMs}`, name: 'app.mail', ...family(of.uuid, of.uuid) };
    const own = { ...of, ...family(of.uuid, '') };
    return [
      ...inTurn(atMs, ...(isSentReported ? [sent(own)] : [])),
      ...inTurn(atMs + 1, received(own), started(of), received(child), succeeded(of), succeeded(child)),
    ];
  }

  /** Uses one after the other. */
  function runsOfUses(uses: readonly Story[], service = 'shop') {
    const on = listening({}, { service });
    for (const story of uses) {
      report(on, story);
      on.cluster.collect(T0_MS + (story.at(-1)?.[0] ?? 0) + 10_000);
    }
    return runs(on);
  }

  function spansOf(uses: readonly Story[], service?: string) {
    const made = tracer();
    return runsOfUses(uses, service).flatMap((run) => made.trace(run).spans);
  }

  for (const isSentReported of [true, false]) {
    test(`each sending is a trace of its own, ${isSentReported ? 'with' : 'without'} task-sent`, () => {
      const uses = [use(KEY, 0, isSentReported), use(KEY, 60_000, isSentReported)];
      const traces = [...Map.groupBy(spansOf(uses), ({ traceId }) => traceId).values()];
      const expected = [...(isSentReported ? ['send app.pay'] : []), 'process app.pay', 'process app.mail'];
      assert.deepEqual(
        traces.map((spans) => spans.map(({ name }) => name)),
        [expected, expected],
      );
      for (const spans of traces) {
        assert.deepEqual(
          spans.flatMap(({ links }) => links),
          [],
        );
        assert.equal(spans.filter(({ parentSpanId }) => parentSpanId === '').length, 1);
      }
    });
  }

  test('also if the last use has no task-sent, and if a child waits in a queue meanwhile', () => {
    const uses = [use(KEY, 0), use(KEY, 60_000), use(KEY, 120_000, false)];
    const spans = spansOf(uses);
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 3);
    assert.equal(spans.filter(({ name }) => name === 'send app.pay').length, 2);
    const ids = spans.map(({ traceId, spanId }) => `${traceId} ${spanId}`);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('a task that sends the same id in each attempt has a span for each sending', () => {
    const child = { ...KEY, ...family(UUID.uuid, UUID.uuid) };
    const root = { ...UUID, name: 'app.order', ...family(UUID.uuid, '') };
    const attempt = (retries: number, atMs: number): Story => [
      ...inTurn(atMs, received({ ...root, retries }), started(UUID)),
      ...inTurn(atMs + 2, sent(child), received(child), started(KEY), succeeded(KEY)),
      [atMs + 6, retries === 0 ? retried('KeyError', UUID) : succeeded(UUID)],
    ];
    const spans = spansOf([attempt(0, 0), attempt(1, 60_000)]);
    const ids = spans.map(({ spanId }) => spanId);
    assert.equal(new Set(ids).size, ids.length);
    const parents = spans
      .filter(({ name }) => name === 'send app.pay')
      .map(({ parentSpanId }) => parentSpanId);
    assert.deepEqual(
      parents,
      spans.filter(({ name }) => name === 'process app.order').map(({ spanId }) => spanId),
    );
  });

  test('the trace differs in another cluster and at another time, and is the same for another bridge', () => {
    const traceOf = (atMs: number, service: string) => spansOf([use(KEY, atMs)], service)[0]?.traceId;
    assert.equal(traceOf(0, 'shop'), traceOf(0, 'shop'));
    assert.equal(new Set([traceOf(0, 'shop'), traceOf(60_000, 'shop'), traceOf(0, 'billing')]).size, 3);
  });

  test('a uuid that is sent again after its end is another trace; one that is only received again is not', () => {
    const again = spansOf([use(UUID, 0), use(UUID, 60_000)]);
    assert.equal(new Set(again.map(({ traceId }) => traceId)).size, 2);
    const redelivered = runsOfUses([use(UUID, 0), use(UUID, 60_000, false)]);
    assert.deepEqual(redelivered.filter(({ uuid }) => uuid === UUID.uuid).map(briefly), [
      'succeeded app.pay 0.0',
      'succeeded app.pay 0.1 redelivery_of 0.0',
    ]);
  });
});
