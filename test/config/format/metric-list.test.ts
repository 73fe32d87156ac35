import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricList } from '../../../src/config/format/metric-list.ts';

test('all entries that match no metric are named, with suggestions', () => {
  const reading = metricList.read('celery.task.snt,celery.queues.*,celery.worker.up,\u001b[2J');
  assert.deepEqual(reading, {
    ok: false,
    expected:
      `${metricList.expects}: "celery.task.snt" is unknown (did you mean celery.task.sent?); ` +
      '"celery.queues.*" matches no metric; "\\u001b[2J" is unknown',
  });
});
