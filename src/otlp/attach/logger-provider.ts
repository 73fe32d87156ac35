/**
 * Emits log records through a LoggerProvider of the embedding program, each in the context of its span. The provider’s limits,
 * resource and processors apply.
 */
import type { Logger, LoggerProvider } from '@opentelemetry/api';
import type { LogRecord } from '../../logger/log-record.ts';
import { emittedLogRecord } from '../encode/emitted-log-record.ts';
import { SCOPE } from '../encode/otlp-request.ts';

/** @returns a function that emits a record, and throws if the provider does */
export function providedRecords(provider: LoggerProvider): (record: LogRecord) => void {
  let logger: Logger | undefined;
  return (record) => {
    logger ??= provider.getLogger(SCOPE.name, SCOPE.version, { schemaUrl: SCOPE.schemaUrl });
    logger.emit(emittedLogRecord(record));
  };
}
