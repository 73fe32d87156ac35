/** A log record, independent of how it is encoded and sent, and the severities. It does nothing. */
import type { Attributes } from '../tracer/span.ts';

/** Severity numbers of the logs data model. */
export const SEVERITY = { INFO: 9, WARN: 13, ERROR: 17 } as const;

export interface LogRecord {
  /** Such as `messaging.process.exception`. */
  readonly eventName: string;
  readonly severityNumber: number;
  readonly severityText: string;
  /** One line for people. */
  readonly body: string;
  /** When it happened, epoch ms; undefined if not known. */
  readonly timeMs: number | undefined;
  /** When this program learned of it, epoch ms. */
  readonly observedMs: number;
  /** '' if the record belongs to no trace. */
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
  readonly attributes: Attributes;
}
