/** When a followed trace is over, and which spans are kept of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../src/celery/decode.ts';
import { KeptTraces } from '../../src/cli/kept-traces.ts';
import { OpenTasks } from '../../src/cli/open-tasks.ts';
import type { Attributes, Span } from '../../src/tracer/span.ts';
import { message, WIRE_EVENTS } from '../celery/wire.ts';

const ROOT = '90817c7f-6c28-4fe5-aa46-7adb16d15d7d';
const CHILD = '9ef3f114-760a-4af7-9064-83c28e3b001e';
const WANTS = { lineage: true, errors: false, arguments: false, traced: false };
const TRACE = ROOT.replaceAll('-', '');

function openTasks(id: string, join = false) {
  const open = new OpenTasks(id, join);
  return {
    open,
    note(type: keyof typeof WIRE_EVENTS, uuid: string, more: Readonly<Record<string, unknown>> = {}) {
      const body = { ...WIRE_EVENTS[type], uuid, root_id: ROOT, parent_id: null, ...more };
      for (const event of decode(message(body), 0, undefined, WANTS).events) open.note(event);
    },
  };
}

function span(traceId: string, uuid: string, attributes: Attributes = {}): Span {
  return {
    ...{ name: 'process shop.charge', kind: 'consumer', traceId, spanId: uuid, parentSpanId: '' },
    ...{
      isParentRemote: false,
      flags: 3,
      traceState: '',
      startMs: 0,
      endMs: 1,
      error: undefined,
      shared: {},
    },
    ...{ attributes: { 'messaging.message.id': uuid, ...attributes }, links: [], events: [] },
  };
}

for (const id of [ROOT, ROOT.toUpperCase(), TRACE]) {
  test(`the tasks of a trace are open until they end: ${id}`, () => {
    const { open, note } = openTasks(id);
    note('task-received', ROOT);
    note('task-sent', CHILD);
    note('task-received', 'other', { root_id: 'other' });
    assert.equal(open.size, 2);
    note('task-succeeded', ROOT);
    note('task-retried', CHILD);
    note('task-rejected', CHILD, { requeue: true });
    assert.equal(open.size, 1);
    note('task-failed', CHILD);
    assert.equal(open.size, 0);
  });
}

test('by the id of a task that is no root, its trace is known once it is sent', () => {
  const { open, note } = openTasks(CHILD);
  note('task-received', ROOT);
  assert.equal(open.size, 0);
  note('task-sent', CHILD);
  note('task-received', 'third');
  assert.equal(open.size, 2);
});

test('a trace that another program began is followed by its id', () => {
  const parent = `00-${TRACE}-ee4651f2c0d347f0-01`;
  const { open, note } = openTasks(TRACE, true);
  note('task-received', CHILD, { root_id: parent });
  assert.equal(open.size, 1);
});

test('a task that is lost, or whose end is not known, is not open', () => {
  const { open, note } = openTasks(ROOT);
  note('task-received', ROOT);
  note('task-received', CHILD);
  open.noteSpan(span(TRACE, ROOT, { 'celery.task.outcome': 'lost' }));
  open.noteSpan(span(TRACE, CHILD, { 'celery.task.outcome': 'retried' }));
  assert.equal(open.size, 1);
});

test('when there are too many spans, the oldest trace but the wanted one is forgotten', () => {
  const kept = new KeptTraces('c', 4);
  for (const traceId of ['c', 'a', 'b', 'b', 'd']) kept.add(span(traceId, traceId));
  kept.add(span('c', 'c2'));
  assert.equal(kept.wanted().length, 2);
  for (let n = 0; n < 9; n += 1) kept.add(span('c', `c${n}`));
  assert.deepEqual(
    kept.wanted().map(({ spanId }) => spanId),
    ['c', 'c2', 'c0', 'c1'],
  );
});

test('a large trace that is not wanted leaves room for the wanted one', () => {
  const kept = new KeptTraces('c', 3);
  for (let n = 0; n < 9; n += 1) kept.add(span('a', `a${n}`));
  kept.add(span('c', 'c'));
  assert.equal(kept.wanted().length, 1);
});
