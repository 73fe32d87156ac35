/**
 * The state of the bridge itself at a collection: readings of its process, its services and its series, which other rooms
 * provide. Types only.
 */
import type { TableState } from '../cluster/observation.ts';

export interface SelfReadings {
  readonly process: ProcessReading;
  readonly services: readonly ServiceReading[];
  /** One per resource that the bridge exports, including that of the bridge itself. */
  readonly series: readonly SeriesReading[];
}

export interface ProcessReading {
  /** Since the bridge was started. */
  readonly uptimeS: number;
  /** CPU time since the bridge was started. */
  readonly cpuS: { readonly user: number; readonly system: number };
  /** Undefined if it cannot be read. */
  readonly memoryBytes: MemoryReading | undefined;
  /** Since the previous reading; undefined if there is no sample yet. */
  readonly eventLoopDelayS: EventLoopDelay | undefined;
}

export interface MemoryReading {
  readonly rss: number;
  readonly heap_total: number;
  readonly heap_used: number;
  readonly external: number;
}

/** How late timers fire, in seconds. */
export interface EventLoopDelay {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

export interface ServiceReading {
  /** `service.name`. */
  readonly service: string;
  /** Whether messages can arrive now. */
  readonly connected: boolean;
  /** Time since the last remote control command; undefined if that could not be sent. */
  readonly reportAgeS: number | undefined;
  /** How many instances of celery-otel export this service; undefined if unknown. */
  readonly instances: number | undefined;
  /** By name. */
  readonly tables: Readonly<Record<string, Omit<TableState, 'evicted'>>>;
}

export interface SeriesReading {
  /** `service.name`. */
  readonly service: string;
  /** Points at the last collection. */
  readonly live: number;
  /** Series that ended since the start, because their worker was forgotten, or because they were idle and others needed room. */
  readonly retired: number;
  /** Series that ended without a report of their end. */
  readonly unmarked: number;
  /** Measurements that went to an overflow series since the start. */
  readonly overflowed: number;
  /** Measurements that were ignored since the start: not a valid number, or too large for the sum. */
  readonly refused: number;
}
