/**
 * All streams of one resource, which are collected together. It does not export, and its caller decides when to
 * collect.
 */
import type { Attributes, MeterProvider } from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import { safeKey } from '../../text/safe-key.ts';
import type { SeriesTally } from './collected-metric.ts';
import { ObservableCallbacks } from './observable-callbacks.ts';
import { type CollectedScope, ScopeStreams, type ScopeStreamsOptions } from './scope-streams.ts';
import { createStreamMeter, type StreamMeter } from './stream-meter.ts';

export type InstrumentStreams = ReturnType<typeof createInstrumentStreams>;

/** How close the number of series of a metric is to its limit. */
export interface Fullness {
  /** The exported name of the metric. */
  readonly metric: string;
  readonly live: number;
  readonly limit: number;
}

export interface InstrumentStreamsOptions extends ScopeStreamsOptions {
  /** Called if an observable callback, or a function passed to `beforeCollect`, throws. */
  readonly onFailure: (reason: unknown) => void;
}

export function createInstrumentStreams(options: InstrumentStreamsOptions) {
  const scopes = new Map<string, ScopeStreams>();
  /**
   * Attribute values whose series end at the next collection. The series themselves are not marked: a measurement after the
   * retirement of a worker may start a new series, which has to end, too.
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
    /** Registers a function that is awaited before each collection. Its measurements are part of that collection. */
    beforeCollect(prepare: () => Promise<void>): void {
      preparations.push(prepare);
    },
    /** Announces that each further collection may be the last: no value is held back any more. */
    end(): void {
      isEnding = true;
    },
    /** Calls the preparations and the observable callbacks, then collects all streams. It yields to the event loop in between. */
    async collect(): Promise<readonly CollectedScope[]> {
      for (const prepare of preparations) await prepare().catch(options.onFailure);
      for (const failure of await callbacks.callAll()) options.onFailure(failure);
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
    /** The stream that is nearest to its limit; undefined if there are no streams. */
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
