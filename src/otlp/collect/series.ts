/** One series of an instrument that adds up. Types only. */
import type { Attributes } from '@opentelemetry/api';
import type { Accumulation } from '../aggregate/aggregation.ts';
import type { Start } from './interval.ts';

export interface Series<V> {
  /** Its key in the table. */
  readonly key: string;
  readonly attributes: Attributes;
  /** Of the attributes in a request, at most. */
  readonly bytes: number;
  readonly isOverflow: boolean;
  /** From when on its next point counts. */
  start: Start;
  accumulation: Accumulation<V>;
  /** Whether anything was measured since the last collection; one with news does not end. */
  hasNews: boolean;
  /** When a collection last found that it was measured, or when it began; ms of a clock that only goes on. */
  measuredMs: number;
  /** Of the last collection, until it has been exported. */
  collected: Due<V> | undefined;
  /** Whether anything was measured that has been collected and not exported yet. */
  isOwed: boolean;
  /** Of that, what is no longer in the accumulation. */
  owed: Accumulation<V> | undefined;
  /** To end once what it owes has been exported, unless it is measured before. */
  isLeaving: boolean;
  /** To begin anew once all that was measured of it has been exported: the clock was set back beyond its start. */
  isClosing: boolean;
  /** No longer in the table: what is measured now is of another one. */
  hasEnded: boolean;
}

/**
 * A series and the value of its point in one collection. That is made when it is asked for: to make those of all series at
 * once would take long, and much memory.
 */
export interface Due<V> {
  readonly series: Series<V>;
  /** As it was collected. */
  value(): V;
  /** The series is about to be measured again, which is not to be in it. */
  keep(): void;
}
