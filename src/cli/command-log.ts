/**
 * The log of a command, on stderr: human-readable on a terminal, otherwise JSON. Warnings of Node become lines of the
 * log.
 */

import type { LogLevel } from '../self/log-level.ts';
import type { EventSink } from '../self/self-event.ts';
import { createSelfLog } from '../self/self-log.ts';
import type { CommandIo } from './command-io.ts';

/** The service name in log lines about the whole process. */
export const SERVICE = 'celery-otel';

export function openLog(level: LogLevel, { stderr, warnings }: CommandIo): EventSink {
  const report = createSelfLog({ level, pretty: stderr.isTTY === true, destination: stderr });
  // Without Node’s own listener, all lines are JSON.
  warnings.removeAllListeners('warning');
  warnings.on('warning', ({ message }) =>
    report({ kind: 'process-warned', service: SERVICE, reason: message }),
  );
  return report;
}
