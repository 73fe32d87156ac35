/**
 * The bridge's own state at a collection, as data: readings of the process, the services and the series, which other rooms
 * provide. Types only.
 */

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
  readonly memoryBytes: {
    readonly rss: number;
    readonly heap_total: number;
    readonly heap_used: number;
    readonly external: number;
  };
  /** Since the previous reading; undefined if there is no sample yet. */
  readonly eventLoopDelayS: EventLoopDelay | undefined;
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
  /** By the name of the table. */
  readonly tables: Readonly<Record<string, TableReading>>;
}

export interface TableReading {
  /** Number of entries. */
  readonly size: number;
  /** Maximum number of entries. */
  readonly limit: number;
  /** Estimated memory of the entries. */
  readonly bytes: number;
  readonly bytesMax: number;
}

export interface SeriesReading {
  /** `service.name`. */
  readonly service: string;
  /** Points at the last collection. */
  readonly live: number;
  /** Series that ended since the start. */
  readonly retired: number;
  /** Measurements beyond the cardinality limit since the start. */
  readonly overflowed: number;
  /** Measurements dropped as invalid since the start. */
  readonly refused: number;
}
