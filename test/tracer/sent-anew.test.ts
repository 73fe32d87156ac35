/** A program sends the id of a task again, in another workflow: both traces are whole, and none has a parent in the other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { received, retried, sent, started, succeeded } from '../cluster/events.ts';
import { runsOf, type Story } from '../cluster/listening.ts';
import { tracer } from './finished-facts.ts';

function family(rootId: string, parentId: string) {
  return { extras: { lineage: { rootId, parentId } } };
}

/** It is retried once. */
function workflow(rootId: string, parentId: string, atMs: number): Story {
  const X = { uuid: 'x', name: 'app.pay' };
  const retry = { ...X, retries: 1, ...family(rootId, parentId || 'x') };
  return [
    [atMs, sent({ ...X, ...family(rootId, parentId) })],
    [atMs + 1, received({ ...X, ...family(rootId, parentId) })],
    [atMs + 2, started(X)],
    [atMs + 3, sent(retry)],
    [atMs + 4, retried('KeyError', X)],
    [atMs + 5, received(retry)],
    [atMs + 6, started(X)],
    [atMs + 7, succeeded(X)],
  ];
}

function parent(uuid: string, atMs: number): Story {
  return [
    [atMs, received({ uuid, name: 'app.order', ...family(uuid, '') })],
    [atMs + 1, succeeded({ uuid })],
  ];
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
        const tops = traces.filter(
          ({ parentSpanId, isParentRemote }) => isParentRemote || parentSpanId === '',
        );
        assert.equal(tops.length, 1);
        for (const span of traces) {
          assert.ok(
            tops.includes(span) || inTrace(span.traceId, span.parentSpanId),
            `${span.name}: an orphan`,
          );
          assert.ok(
            span.links.every((link) => inTrace(link.traceId, link.spanId)),
            'a dead link',
          );
        }
      }
      assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 2);
      assert.equal(spans.filter(({ name }) => name === 'process app.pay').length, 4);
    });
  }
}
