/** One series of a counter or histogram. Types only. */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import type { Start } from './interval.ts';

export interface Series<V> {
  /** Its key in the table. */
  readonly key: string;
  readonly attributes: Attributes;
  /** Upper bound of the attributes’ size in a request. */
  readonly bytes: number;
  readonly isOverflow: boolean;
  /** The start time of its next point. */
  start: Start;
  accumulation: Accumulation<V>;
  /** Whether it was measured since the last collection. If so, it does not end. */
  hasNews: boolean;
  /** The last collection that found it measured, or its begin, in ms of a monotonic clock. */
  measuredMs: number;
  /** Its value in the last collection, until that has been exported. */
  collected: Due<V> | undefined;
  /** Whether measurements have been collected but not exported yet. */
  isOwed: boolean;
  /** The part of them that is no longer in the accumulation. */
  owed: Accumulation<V> | undefined;
  /** Ends once what it owes has been exported, unless it is measured before. */
  isLeaving: boolean;
  /** Restarts once everything in it has been exported: the clock was set back before its start. */
  isClosing: boolean;
  /** No longer in the table: later measurements belong to a new series. */
  hasEnded: boolean;
}

/**
 * A series and the value of its point in one collection. The value is made on demand: making all at once would take too
 * much time and memory.
 */
export interface Due<V> {
  readonly series: Series<V>;
  /** The value as collected. */
  value(): V;
  /** Fixes the value before the series is measured again. */
  keep(): void;
}
