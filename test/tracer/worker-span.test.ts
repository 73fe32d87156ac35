/** Runs whose worker told in which span it ran them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processSpanId } from '../../src/tracer/span-id.ts';
import { run, tracer, UUID } from './finished-facts.ts';

const WORKER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const sampled = run({ workerTraceparent: `00-${WORKER.traceId}-${WORKER.spanId}-01` });
const dropped = run({ workerTraceparent: `00-${WORKER.traceId}-${WORKER.spanId}-00` });
const OWN_SPAN = processSpanId(UUID, { retries: 0, delivery: 0 });

test('logs and exemplars have the ids of the worker’s span, and ours links to it', () => {
  const { context, isKept, spans } = tracer().trace(sampled);
  assert.deepEqual(context, { ...WORKER, flags: 1 });
  assert.equal(isKept, true);
  const [span] = spans;
  assert.equal(span?.spanId, OWN_SPAN);
  assert.deepEqual(span.links, [{ ...WORKER, attributes: { 'celery.link': 'worker_span' } }]);
});

test('whether that span is kept is the worker’s decision, whatever becomes of ours', () => {
  assert.equal(tracer().trace(dropped).isKept, false);
  assert.equal(tracer().trace(dropped).spans.length, 1);
  for (const settings of [
    { sampler: { kind: 'always_off' } as const },
    { spans: 'beyond_workers' as const },
  ]) {
    const { context, isKept, spans } = tracer(settings).trace(sampled);
    assert.deepEqual([context?.spanId, isKept, spans.length], [WORKER.spanId, true, 0]);
  }
});

test('what is no traceparent is ignored', () => {
  for (const workerTraceparent of [
    '',
    'x',
    `00-${WORKER.traceId}-${'0'.repeat(16)}-01`,
    `ff-${WORKER.traceId}`,
  ]) {
    const { context, spans } = tracer().trace(run({ workerTraceparent }));
    assert.deepEqual([context?.spanId, spans[0]?.links], [OWN_SPAN, []]);
  }
});
