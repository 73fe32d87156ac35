/**
 * The bridge's own state at a collection, as data: readings of the process, the services and the series, which other rooms
 * provide. Types only.
 */
import type { TableState } from '../cluster/observation.ts';

export interface SelfReadings {
  readonly process: ProcessReading;
  readonly services: readonly ServiceReading[];
  /** One per resource that the bridge exports, including its own. */
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
  /** Since the last remote control command; undefined if it could not be sent. */
  readonly reportAgeS: number | undefined;
  /** Instances of celery-otel that export it; undefined if unknown. */
  readonly instances: number | undefined;
  /** By the name of the table. */
  readonly tables: Readonly<Record<string, Omit<TableState, 'evicted'>>>;
}

export interface SeriesReading {
  /** `service.name`. */
  readonly service: string;
  /** Points at the last collection. */
  readonly live: number;
  /** Series that ended since the start: their worker is forgotten, or they were idle and made room for others. */
  readonly retired: number;
  /** Series that ended, and whose end was not reported. */
  readonly unmarked: number;
  /** Measurements that went to an overflow series since the start. */
  readonly overflowed: number;
  /** Measurements since the start that were not a valid number, or would have exceeded what a sum can hold. */
  readonly refused: number;
}
