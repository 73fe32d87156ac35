/**
 * A stream with its backend: what arrived there is compared with all that was measured, after any exports, refusals and
 * retirements, for every aggregation and both temporalities.
 */
import assert from 'node:assert/strict';
import { type Attributes, ValueType } from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import { AggregationTemporality, type DataPoint } from '@opentelemetry/sdk-metrics';
import type { Accumulation, Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import type { CollectedMetric } from '../../../src/otlp/collect/collected-metric.ts';
import { createSeriesStream, type SeriesStream } from '../../../src/otlp/collect/series-stream.ts';
import { OVERFLOW } from './collected-stream.ts';

/** One series at the backend, or in a request. */
interface Seen<V> {
  readonly key: string;
  readonly value: V;
  readonly startMs: number;
  readonly endMs: number;
}

export const WORKERS = 10;

const KEYS = Array.from({ length: WORKERS }, (_, index) => `w${index}`);
const SHARED = KEYS.map((worker) => Object.freeze({ worker }));

export class WatchedStream<V> {
  readonly #aggregation: Aggregation<V>;
  readonly #isDelta: boolean;
  readonly #limit: number;
  readonly #stream: SeriesStream;
  /** The same, but collected points are read only after further measurements, and not at all if nothing arrives. */
  readonly #late: SeriesStream;
  /** All that was measured, as one series. */
  readonly #measured: Accumulation<V>;
  /** All points that arrived: with cumulative temporality the last one of each start. */
  readonly #arrived = new Map<string, Seen<V>>();
  /** Of the last collection, by their key. */
  #last: ReadonlyMap<string, Seen<V> & { readonly hasArrived: boolean }> = new Map();
  /** Retired since the last collection. */
  #retired = new Set<string>();
  /** Retired, and still to arrive once more. */
  readonly #leaving = new Set<string>();
  /** Series that must have no point until they are measured again. */
  readonly #gone = new Set<string>();
  /** Series that may begin anew. */
  readonly #over = new Set<string>();
  /** Measured since they were collected for a point that arrived. */
  readonly #owed = new Set<string>();
  #points: readonly DataPoint<V>[] = [];
  #clockMs = 0;

  constructor(aggregation: Aggregation<V>, temporality: AggregationTemporality, limit: number) {
    this.#aggregation = aggregation;
    this.#isDelta = temporality === AggregationTemporality.DELTA;
    this.#limit = limit;
    this.#measured = aggregation.begin();
    const open = (): SeriesStream =>
      createSeriesStream<V>({
        descriptor: { name: 'm', description: '', unit: '', valueType: ValueType.DOUBLE },
        // The points, with the type that their values have.
        aggregation: {
          ...aggregation,
          metric: (stream, points) => {
            this.#points = points;
            return aggregation.metric(stream, points);
          },
        },
        temporality,
        limit,
        nowMs: () => this.#clockMs,
      });
    this.#stream = open();
    this.#late = open();
  }

  measure(worker: number, value: number, isShared: boolean): void {
    this.#clockMs += 1;
    for (const stream of [this.#stream, this.#late])
      stream.measure(value, isShared ? SHARED[worker] : { worker: `w${worker}` });
    this.#measured.measure(value);
    this.#gone.delete(`w${worker}`);
    // It returned before it had ended.
    this.#leaving.delete(`w${worker}`);
    this.#owed.add(`w${worker}`);
  }

  retire(workers: readonly number[]): void {
    for (const worker of workers) this.#retired.add(`w${worker}`);
  }

  /**
   * Collects, checks what is to be exported, and exports it in pieces.
   * @param arrives whether each piece arrives; its length is the number of pieces
   * @param meanwhile what happens during the export
   */
  collect(arrives: readonly boolean[], meanwhile: () => void): void {
    this.#clockMs += 1;
    const retired = new Set(this.#retired);
    const isRetired = ({ worker }: Attributes): boolean => retired.has(String(worker));
    const metric = this.#stream.collect(this.#clockMs, isRetired);
    const late = this.#late.collect(this.#clockMs, isRetired);
    const due = this.#read(metric);
    this.#depart(due);
    this.#check(due);
    const unsent = new Set(this.#owed);
    this.#owed.clear();
    this.#clockMs += 1;
    meanwhile();
    if (arrives.includes(true))
      assert.deepEqual(this.#read(late), due, 'nothing that was measured meanwhile is in it');
    const arrived = this.#export([metric, late], due, arrives);
    this.#last = new Map(due.map((seen) => [seen.key, { ...seen, hasArrived: arrived.has(seen.key) }]));
    this.#arrive(arrived, unsent);
  }

  /** A series without unsent data ends at once, the others once they have arrived. */
  #depart(due: readonly Seen<V>[]): void {
    for (const worker of this.#retired) {
      const isStillThere = this.#owed.has(worker) && due.some(({ key }) => key === worker);
      if (isStillThere) this.#leaving.add(worker);
      else this.#end(worker);
    }
    this.#retired = new Set();
  }

  #arrive(arrived: ReadonlySet<string>, unsent: ReadonlySet<string>): void {
    for (const worker of this.#leaving) {
      if (!arrived.has(worker)) continue;
      this.#leaving.delete(worker);
      this.#end(worker);
    }
    // An overflowing series is in the overflow.
    for (const worker of unsent) if (this.#last.get(worker)?.hasArrived === false) this.#owed.add(worker);
  }

  #end(worker: string): void {
    this.#gone.add(worker);
    this.#over.add(worker);
  }

  #read(metric: CollectedMetric | undefined): readonly Seen<V>[] {
    this.#points = [];
    metric?.slice(0, metric.pointCount);
    assert.equal(this.#points.length, metric?.pointCount ?? 0);
    return this.#points.map(({ attributes, startTime, endTime, value }) => ({
      key: keyOf(attributes),
      value,
      startMs: hrTimeToMilliseconds(startTime),
      endMs: hrTimeToMilliseconds(endTime),
    }));
  }

  #check(due: readonly Seen<V>[]): void {
    const keys = new Set(due.map(({ key }) => key));
    assert.equal(keys.size, due.length, 'each series has one point');
    assert.ok(due.length <= this.#limit, `${due.length} points`);
    for (const key of this.#gone) assert.ok(!keys.has(key), `${key} is there`);
    if (!this.#isDelta && this.#last.has('overflow')) assert.ok(keys.has('overflow'), 'it never ends');
    for (const seen of due) {
      assert.equal(seen.endMs, this.#clockMs);
      assert.ok(seen.startMs < seen.endMs);
      this.#checkStart(seen);
    }
    assert.deepEqual(this.#total(due), this.#measured.value());
  }

  #checkStart({ key, startMs }: Seen<V>): void {
    const last = this.#last.get(key);
    if (last === undefined) {
      const ends = [...this.#arrived.values()].filter((seen) => seen.key === key).map(({ endMs }) => endMs);
      assert.ok(startMs >= Math.max(0, ...ends), 'a life begins after the one before it');
    } else if (this.#isDelta) {
      assert.equal(startMs, last.hasArrived ? last.endMs : last.startMs, 'what was not exported is in it');
    } else if (startMs !== last.startMs) {
      assert.ok(last.hasArrived && startMs >= last.endMs, 'none begins anew before it was exported');
      assert.ok(this.#over.delete(key), 'none begins anew that was not retired');
    }
  }

  /** Of what is to be exported, and of what arrived and is not in it. */
  #total(due: readonly Seen<V>[]): V {
    const total = this.#aggregation.begin();
    const anew = new Set(due.map((seen) => this.#lifeOf(seen)));
    for (const { value } of due) total.absorb(value);
    for (const [life, { value }] of this.#arrived) if (this.#isDelta || !anew.has(life)) total.absorb(value);
    return total.value();
  }

  #export(
    metrics: readonly (CollectedMetric | undefined)[],
    due: readonly Seen<V>[],
    arrives: readonly boolean[],
  ): ReadonlySet<string> {
    const arrived = new Set<string>();
    for (const [piece, does] of arrives.entries()) {
      const [from, to] = [piece, piece + 1].map((part) => Math.floor((due.length * part) / arrives.length));
      if (!does || from === undefined || to === undefined) continue;
      for (const metric of metrics) metric?.acknowledge(from, to);
      for (const seen of due.slice(from, to)) {
        arrived.add(seen.key);
        this.#arrived.set(this.#lifeOf(seen), seen);
      }
    }
    return arrived;
  }

  #lifeOf({ key, startMs, endMs }: Seen<V>): string {
    return this.#isDelta ? `${key} ${startMs}–${endMs}` : `${key} since ${startMs}`;
  }
}

function keyOf(attributes: Attributes): string {
  return attributes['otel.metric.overflow'] === OVERFLOW['otel.metric.overflow']
    ? 'overflow'
    : String(attributes['worker']);
}
