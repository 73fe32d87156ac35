/**
 * Log records through a LoggerProvider of the embedding program, each in the context of its span. Its limits, its resource and
 * its processors hold.
 */
import type { Logger, LoggerProvider } from '@opentelemetry/api';
import type { LogRecord } from '../../logger/log-record.ts';
import { VERSION } from '../../self/version.ts';
import { SCOPE } from '../encode/otlp-request.ts';
import { emittedLogRecord } from '../encode/readable-log-record.ts';

/** @returns may throw what the provider throws */
export function providedRecords(provider: LoggerProvider): (record: LogRecord) => void {
  let logger: Logger | undefined;
  return (record) => {
    logger ??= provider.getLogger(SCOPE.name, VERSION);
    logger.emit(emittedLogRecord(record));
  };
}
