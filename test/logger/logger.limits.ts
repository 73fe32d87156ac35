/** What a record costs that is not made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../../src/logger/logger.ts';
import { bound } from '../bound.ts';
import { processorMs } from '../processor-time.ts';
import { CONTEXT, finished, longError, SETTINGS } from './runs.ts';

test('Failures that are left out cost little, however long their stack traces are', (t) => {
  const logger = createLogger(SETTINGS);
  const run = finished({ error: longError() });
  const ms = processorMs(() => {
    for (let n = 0; n < 1000; n += 1) logger.ofRun(run, CONTEXT, true);
  });
  assert.equal(logger.leftOut().repeated, 990);
  bound(t, 'a thousand equal failures with long stack traces', ms, 2000, 'ms');
});
