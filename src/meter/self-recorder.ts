/**
 * Records self telemetry: counts self events, and reports readings, by the second table of the catalog. It writes no log
 * lines; other rooms make them from the same events.
 */
import type { Meter } from '@opentelemetry/api';
import type { SelfEvent, SelfEventKind } from '../self/self-event.ts';
import { BOUNDED_TABLES } from './attributes.ts';
import type { CounterSeries } from './bindable.ts';
import { SELF_METRICS } from './catalog.ts';
import { createInstruments, type Instruments, type ObserveGauge } from './instruments.ts';
import type { ProcessReading, SelfReadings, ServiceReading } from './self-readings.ts';

/** The parts of a Celery event that are counted. */
export interface ReadEvent {
  readonly type: string;
  /** When it happened, epoch ms. */
  readonly timestampMs: number;
  /** Set if `timestampMs` is only the time of arrival. */
  readonly implausibleMs: number | undefined;
}

/** @param arrivedAtMs time of arrival, epoch ms */
export type CountEvent = (event: ReadEvent, arrivedAtMs: number) => void;

export type SelfRecorder = ReturnType<typeof createSelfRecorder>;

type Table = typeof SELF_METRICS;

const CPU_MODES = ['user', 'system'] as const;
/** Each counter, and the field of `SeriesReading` with its total. */
const SERIES_COUNTERS = [
  ['celery_otel.series.retired', 'retired'],
  ['celery_otel.series.unmarked', 'unmarked'],
  ['celery_otel.series.overflowed', 'overflowed'],
  ['celery_otel.measurements.refused', 'refused'],
] as const;

/** @param read called at each collection */
export function createSelfRecorder(meter: Meter, read: () => SelfReadings) {
  const growthOf = createGrowth();
  const instruments = createInstruments({
    meter,
    table: SELF_METRICS,
    isOn: () => true,
    onCollect(observe) {
      observe('celery_otel.up', 1, []);
      const { process: ofProcess, services, series } = read();
      observeProcess(observe, ofProcess);
      for (const reading of services) observeService(observe, reading);
      for (const { service, live } of series) observe('celery_otel.series', live, [service]);
      addTotals(instruments.add, growthOf, { process: ofProcess, series });
    },
  });
  // Start at 0, before the first reading.
  for (const mode of CPU_MODES) instruments.add('celery_otel.cpu.time', [mode], 0);
  return {
    record: (event: SelfEvent): void => record(instruments, event),
    /**
     * Returns a function to call for each decoded Celery event of a service; it is separate from `record` for speed. Also
     * starts the service's eviction counters at 0.
     */
    eventsOf: (service: string): CountEvent => eventsOf(instruments, service),
    /** Starts the series counters of a service at 0; call it before there are any series. */
    beginSeries(service: string): void {
      for (const [name] of SERIES_COUNTERS) instruments.add(name, [service], 0);
    },
    /** Flushes, then detaches from the meter. */
    close: instruments.close,
  };
}

type Count<K extends SelfEventKind> = (event: SelfEvent<K>, instruments: Instruments<Table>) => void;

const notCounted = (): void => {};

/** How each kind of event is counted. */
const COUNTS: { readonly [K in SelfEventKind]: Count<K> } = {
  'input-dropped': ({ service, reason, intentional, count }, { add }) =>
    add('celery_otel.input.dropped', [service, reason, intentional], count),
  'field-implausible': ({ service, field }, { add }) =>
    add('celery_otel.fields.implausible', [service, field]),
  'broker-connected': ({ service }, { add }) => add('celery_otel.broker.connections', [service]),
  'broker-session-ended': ({ service, end }, { add }) => add('celery_otel.broker.sessions', [service, end]),
  'broker-polled': ({ service, outcome }, { add }) => add('celery_otel.broker.polls', [service, outcome]),
  'workers-asked': ({ service, command, outcome, replies }, { add }) => {
    add('celery_otel.control.requests', [service, command, outcome]);
    for (const [reply, count] of Object.entries(replies))
      add('celery_otel.control.replies', [service, command, reply], count);
  },
  'table-evicted': ({ service, table, count }, { add }) =>
    add('celery_otel.table.evictions', [service, table], count),
  'clock-skewed': ({ service, senderHost, workerHost }, { add }) =>
    add('celery_otel.clock.skews', [service, senderHost, workerHost]),
  'loss-refuted': ({ service }, { add }) => add('celery_otel.lost.refuted', [service]),
  'export-finished': recordExport,
  'batch-finished': recordBatch,
  'items-dropped': ({ service, signal, reason, count }, { add }) =>
    add('celery_otel.items.dropped', [service, signal, reason], count),
  defect: ({ service, where }, { add }) => add('celery_otel.defects', [service, where]),
  // Counted from readings of the series.
  'series-overflowed': notCounted,
  // Reported by gauges.
  'worker-deaf': notCounted,
  'worker-recovered': notCounted,
  'instances-changed': notCounted,
  // Covered by export-finished.
  'export-late': notCounted,
  'exports-recovered': notCounted,
  // Only logged.
  'exchange-made': notCounted,
  'publish-blocked': notCounted,
  'publish-unblocked': notCounted,
  'publish-refused': notCounted,
  'command-skipped': notCounted,
  'name-left-behind': notCounted,
  'events-missing': notCounted,
  'events-resumed': notCounted,
  'task-events-missing': notCounted,
  'task-events-resumed': notCounted,
  'clock-stepped': notCounted,
  'service-started': notCounted,
  'workers-endangered': notCounted,
  'service-stopping': notCounted,
  'service-stopped': notCounted,
  'setting-unused': notCounted,
  'process-warned': notCounted,
  'status-served': notCounted,
  'starter-gone': notCounted,
};

function record<K extends SelfEventKind>(instruments: Instruments<Table>, event: SelfEvent<K>): void {
  COUNTS[event.kind](event, instruments);
}

function recordExport(
  { service, outcome, points, rejectedPoints, durationMs }: SelfEvent<'export-finished'>,
  { add, histogramSeries }: Instruments<Table>,
): void {
  add('celery_otel.exports', [service, outcome]);
  // Also 0, because the rate of a counter does not include the value that its series starts with.
  add('celery_otel.export.points', [service], points);
  add('celery_otel.export.points.rejected', [service], rejectedPoints);
  histogramSeries('celery_otel.export.duration', [service, outcome]).record(durationMs / 1000);
}

function recordBatch(
  { signal, outcome, items, rejectedItems, durationMs }: SelfEvent<'batch-finished'>,
  { add, histogramSeries }: Instruments<Table>,
): void {
  add('celery_otel.batches', [signal, outcome]);
  add('celery_otel.batch.items', [signal], items);
  add('celery_otel.batch.items.rejected', [signal], rejectedItems);
  histogramSeries('celery_otel.batch.duration', [signal, outcome]).record(durationMs / 1000);
}

/** Series are looked up once, because this runs for every event. */
function eventsOf({ add, counterSeries, histogramSeries }: Instruments<Table>, service: string): CountEvent {
  // Start at 0 now, because the rate of a counter does not include the value that its series starts with.
  for (const table of BOUNDED_TABLES) add('celery_otel.table.evictions', [service, table], 0);
  const lag = histogramSeries('celery_otel.event.lag', [service]);
  const byType = new Map<string, CounterSeries>();
  return ({ type, timestampMs, implausibleMs }, arrivedAtMs) => {
    let series = byType.get(type);
    if (series === undefined) {
      series = counterSeries('celery_otel.events', [service, type]);
      byType.set(type, series);
    }
    series.add(1);
    if (implausibleMs === undefined) lag.record(Math.max(0, arrivedAtMs - timestampMs) / 1000);
  };
}

function observeProcess(observe: ObserveGauge<Table>, it: ProcessReading): void {
  observe('celery_otel.uptime', it.uptimeS, []);
  for (const [type, bytes] of Object.entries(it.memoryBytes ?? {})) {
    observe('celery_otel.memory.usage', bytes, [type]);
  }
  for (const [statistic, delayS] of Object.entries(it.eventLoopDelayS ?? {})) {
    observe('celery_otel.event_loop.delay', delayS, [statistic]);
  }
}

function observeService(
  observe: ObserveGauge<Table>,
  { service, connected, reportAgeS, instances, tables }: ServiceReading,
): void {
  observe('celery_otel.control.age', reportAgeS, [service]);
  observe('celery_otel.instances', instances, [service]);
  observe('celery_otel.broker.connected', connected ? 1 : 0, [service]);
  for (const [table, { size, limit, bytes, bytesMax }] of Object.entries(tables)) {
    observe('celery_otel.table.entries', size, [service, table]);
    observe('celery_otel.table.limit', limit, [service, table]);
    observe('celery_otel.table.size', bytes, [service, table]);
    observe('celery_otel.table.size_limit', bytesMax, [service, table]);
  }
}

/** Adds to counters by how much the totals in readings have grown. */
function addTotals(
  add: Instruments<Table>['add'],
  growthOf: (key: string, total: number) => number,
  readings: Pick<SelfReadings, 'process' | 'series'>,
): void {
  for (const mode of CPU_MODES) {
    add('celery_otel.cpu.time', [mode], growthOf(`cpu ${mode}`, readings.process.cpuS[mode]));
  }
  for (const reading of readings.series) {
    for (const [name, total] of SERIES_COUNTERS) {
      add(name, [reading.service], growthOf(`${total} ${reading.service}`, reading[total]));
    }
  }
}

/** How much a total has grown since the last call. */
function createGrowth(): (key: string, total: number) => number {
  const totals = new Map<string, number>();
  return (key, total) => {
    const growth = total - (totals.get(key) ?? 0);
    totals.set(key, total);
    return growth;
  };
}
