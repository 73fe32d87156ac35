/**
 * All streams of one resource, scope by scope, collected together. It neither exports nor knows when.
 */
import type { Attributes, MeterProvider } from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import { safeKey } from '../../text/safe-key.ts';
import type { SeriesTally } from './collected-metric.ts';
import { ObservableCallbacks } from './observable-callbacks.ts';
import { type CollectedScope, ScopeStreams, type ScopeStreamsOptions } from './scope-streams.ts';
import { createStreamMeter, type StreamMeter } from './stream-meter.ts';

export type InstrumentStreams = ReturnType<typeof createInstrumentStreams>;

/** The series of one metric at its last collection. */
export interface Fullness {
  /** Its exported name. */
  readonly metric: string;
  readonly live: number;
  readonly limit: number;
}

export interface InstrumentStreamsOptions extends ScopeStreamsOptions {
  /** An observable callback, or what comes before a collection, threw. */
  readonly onFailure: (reason: unknown) => void;
}

export function createInstrumentStreams(options: InstrumentStreamsOptions) {
  const scopes = new Map<string, ScopeStreams>();
  /**
   * Values by attribute, until the next collection. They are no marks on series: a measurement after a worker’s retirement
   * may start a series, which has to end, too.
   */
  let retired: readonly (readonly [key: string, values: ReadonlySet<string>])[] = [];
  let isEnding = false;
  const callbacks = new ObservableCallbacks();
  const preparations: (() => Promise<void>)[] = [];

  return {
    /** Instruments with the same kind, name and scope share their streams. */
    getMeter(...[name, version, { schemaUrl } = {}]: Parameters<MeterProvider['getMeter']>): StreamMeter {
      const key = JSON.stringify([name, version ?? '', schemaUrl ?? '']);
      const scope: InstrumentationScope = {
        name,
        ...(version === undefined ? {} : { version }),
        ...(schemaUrl === undefined ? {} : { schemaUrl }),
      };
      const streams = scopes.get(key) ?? new ScopeStreams(scope, options);
      scopes.set(key, streams);
      return createStreamMeter(streams, callbacks);
    },
    /**
     * Ends the series of counters and histograms whose attribute `key` has one of the values, once their last value has been
     * exported. A later measurement starts a new series.
     */
    retire(key: string, values: Iterable<string>): void {
      retired = [...retired, [key, new Set(Array.from(values, safeKey))]];
    },
    /** Awaited before each collection: what it records is part of that collection. */
    beforeCollect(prepare: () => Promise<void>): void {
      preparations.push(prepare);
    },
    /** What is collected from now on may be the last: no value is held back. */
    end(): void {
      isEnding = true;
    },
    /** Prepares, calls the observable callbacks and collects all streams, and yields the event loop now and then. */
    async collect(): Promise<readonly CollectedScope[]> {
      for (const prepare of preparations) await prepare().catch(options.onFailure);
      for (const failure of await callbacks.ask()) options.onFailure(failure);
      const leaving = retired;
      retired = [];
      const isRetired = (attributes: Attributes): boolean =>
        leaving.some(([key, values]) => {
          const value = attributes[key];
          return typeof value === 'string' && values.has(safeKey(value));
        });
      const collected: CollectedScope[] = [];
      for (const scope of scopes.values()) collected.push(await scope.collect(isRetired, isEnding));
      return collected.filter(({ metrics, ended = [] }) => metrics.length + ended.length > 0);
    },
    /** The stream that is nearest to its limit; undefined if there is none. */
    fullest(): Fullness | undefined {
      let fullest: Fullness | undefined;
      for (const scope of scopes.values())
        for (const stream of scope.all()) {
          const { metric, limit } = stream;
          const { live } = stream.tally();
          if (fullest === undefined || live * fullest.limit > fullest.live * limit)
            fullest = { metric, live, limit };
        }
      return fullest;
    },
    tally(): SeriesTally {
      return sumOf([...scopes.values()].flatMap((scope) => scope.all().map((stream) => stream.tally())));
    },
  };
}

function sumOf(tallies: readonly SeriesTally[]): SeriesTally {
  const sum = (key: keyof SeriesTally) => tallies.reduce((total, tally) => total + tally[key], 0);
  return {
    live: sum('live'),
    retired: sum('retired'),
    unmarked: sum('unmarked'),
    overflowed: sum('overflowed'),
    refused: sum('refused'),
  };
}
