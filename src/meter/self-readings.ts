/**
 * What the bridge says of its own state at a collection, as data: whoever looks at the process, the services and the
 * series hands it over, so that nothing in this room does. Types only.
 */

export interface SelfReadings {
  readonly process: ProcessReading;
  readonly services: readonly ServiceReading[];
  /** Of every resource that the bridge itself exports, its own included. */
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
  /** Since the reading before; undefined where there was no sample yet. */
  readonly eventLoopDelayS: EventLoopDelay | undefined;
}

/** How much later than it is due something is done, for what is done before it. */
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
  readonly entries: number;
  /** Entries at most. */
  readonly limit: number;
  /** What they take in memory, as far as it is counted. */
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
  /** Measurements since the start that had no place of their own. */
  readonly overflowed: number;
  /** Measurements since the start that no point could have. */
  readonly refused: number;
}
