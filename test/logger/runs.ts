/** Facts and settings for tests of log records. */

import type { LogSettings } from '../../src/logger/log-settings.ts';
import type { LogContext } from '../../src/logger/logger.ts';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { run } from '../tracer/finished-facts.ts';

export const SETTINGS: LogSettings = {
  exceptionMessage: true,
  exceptionStacktrace: true,
  redact: [],
  redactNames: [],
  workers: true,
  minimumSeverity: 1,
  traceBased: false,
  attributeValueLengthMax: undefined,
};

export const CONTEXT: LogContext = {
  traceId: '90817c7f6c284fe5aa467adb16d15d7d',
  spanId: '8d98fd9fb6eb92b8',
  flags: 3,
};

/** Epoch ms. */
export const NOW = 1_795_311_504_487;

/** A run that failed. */
export function finished(changes: Partial<FinishedRun> = {}): FinishedRun {
  return run({
    uuid: '792678ed-6840-42b7-b65a-a08cfc471cf0',
    rootId: '90817c7f-6c28-4fe5-aa46-7adb16d15d7d',
    run: { task: 'app.invoice', queue: 'work', worker: 'w1@shop' },
    outcome: 'failed',
    errorType: 'ValueError',
    receivedMs: NOW - 40,
    startedMs: NOW - 33,
    endedMs: NOW,
    reportedMs: NOW + 5,
    ...changes,
  });
}

/** An exception whose stack trace is as long as one of Python is that recurses without end. */
export function longError(): NonNullable<FinishedRun['error']> {
  const frames = '  File "/srv/shop/tasks.py", line 49, in pay\n    raise Declined()\n'.repeat(250);
  return { path: 'E', message: 'x', stacktrace: `Traceback (most recent call last):\n${frames}E: x` };
}
