/**
 * The bridge's own metrics out of what happens to it and of what is read of it. The same facts become log lines elsewhere;
 * here they are only counted, under the attributes that the second table of the catalog gives them.
 */
import type { Meter } from '@opentelemetry/api';
import type { SelfEvent } from '../self/self-event.ts';
import { BOUNDED_TABLES } from './attributes.ts';
import type { CounterSeries } from './bindable.ts';
import { SELF_METRICS } from './catalog.ts';
import { createInstruments, type Instruments, type Observe } from './instruments.ts';
import type { ProcessReading, SelfReadings, ServiceReading } from './self-readings.ts';

/** What is counted of a Celery event. */
export interface ReadEvent {
  readonly type: string;
  /** When it happened, epoch ms. */
  readonly timestampMs: number;
  /** Where that is only when it reached us. */
  readonly implausibleMs: number | undefined;
}

/** @param arrivedAtMs when the event reached us, epoch ms */
export type CountEvent = (event: ReadEvent, arrivedAtMs: number) => void;

export interface SelfRecorder {
  record(event: SelfEvent): void;
  /**
   * What counts the Celery events of a service that are read: called for each, so apart from the rarer facts. What is told
   * in sums is counted from now on.
   */
  eventsOf(service: string): CountEvent;
  /** What is read of the series of a service is counted from now on; to be called before there can be any. */
  beginSeries(service: string): void;
  /** Detaches from the meter; what was recorded and not collected yet is handed over first. */
  close(): void;
}

type Table = typeof SELF_METRICS;

const CPU_MODES = ['user', 'system'] as const;
/** Each with the total that it is fed from. */
const SERIES_COUNTERS = [
  ['celery_otel.series.retired', 'retired'],
  ['celery_otel.series.overflowed', 'overflowed'],
  ['celery_otel.measurements.refused', 'refused'],
] as const;

/** @param read asked at each collection */
export function createSelfRecorder(meter: Meter, read: () => SelfReadings): SelfRecorder {
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
  // Likewise a total.
  for (const mode of CPU_MODES) instruments.add('celery_otel.cpu.time', [mode], 0);
  return {
    record: (event) => record(instruments, event),
    eventsOf: (service) => eventsOf(instruments, service),
    beginSeries(service) {
      for (const [name] of SERIES_COUNTERS) instruments.add(name, [service], 0);
    },
    close: instruments.close,
  };
}

function record({ add, record: measure }: Instruments<Table>, event: SelfEvent): void {
  const { service } = event;
  switch (event.kind) {
    case 'input-dropped':
      add('celery_otel.input.dropped', [service, event.reason, event.intentional]);
      break;
    case 'field-implausible':
      add('celery_otel.fields.implausible', [service, event.field]);
      break;
    case 'broker-connected':
      add('celery_otel.broker.connections', [service]);
      break;
    case 'broker-session-ended':
      add('celery_otel.broker.sessions', [service, event.end]);
      break;
    case 'table-evicted':
      add('celery_otel.table.evictions', [service, event.table], event.count);
      break;
    case 'clock-skewed':
      add('celery_otel.clock.skews', [service, event.senderHost, event.workerHost]);
      break;
    case 'loss-refuted':
      add('celery_otel.lost.refuted', [service]);
      break;
    case 'export-finished':
      add('celery_otel.exports', [service, event.outcome]);
      // Also where it is 0: there is no rate of what begins with the first that is bad.
      add('celery_otel.export.points', [service], event.points);
      add('celery_otel.export.points.rejected', [service], event.rejectedPoints);
      measure('celery_otel.export.duration', event.durationMs / 1000, [service, event.outcome]);
      break;
    case 'defect':
      add('celery_otel.defects', [service, event.where]);
      break;
    // What is read of the series is counted.
    case 'series-overflowed':
    case 'exchange-made':
    case 'nothing-heard':
    case 'heard-again':
    case 'task-events-missing':
    case 'task-events-again':
    case 'clock-stepped':
    // The duration of that export is measured when it ends, and what failed is counted.
    case 'export-late':
    case 'exports-recovered':
    case 'service-started':
    case 'service-stopping':
    case 'service-stopped':
    case 'starter-gone':
      break;
    default:
      event satisfies never;
  }
}

/** Each series is found once and kept: this is done for every event. */
function eventsOf({ add, counterSeries, histogramSeries }: Instruments<Table>, service: string): CountEvent {
  // A sum is told at the end of the interval that it grew in: a series that began only then would be too young.
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

function observeProcess(observe: Observe<Table>, it: ProcessReading): void {
  observe('celery_otel.uptime', it.uptimeS, []);
  for (const [type, bytes] of Object.entries(it.memoryBytes)) {
    observe('celery_otel.memory.usage', bytes, [type]);
  }
  for (const [statistic, delayS] of Object.entries(it.eventLoopDelayS ?? {})) {
    observe('celery_otel.event_loop.delay', delayS, [statistic]);
  }
}

function observeService(observe: Observe<Table>, { service, connected, tables }: ServiceReading): void {
  observe('celery_otel.broker.connected', connected ? 1 : 0, [service]);
  for (const [table, { entries, limit, bytes, bytesMax }] of Object.entries(tables)) {
    observe('celery_otel.table.entries', entries, [service, table]);
    observe('celery_otel.table.limit', limit, [service, table]);
    observe('celery_otel.table.size', bytes, [service, table]);
    observe('celery_otel.table.size_limit', bytesMax, [service, table]);
  }
}

/** What others have counted since the start, for counters to which only what is new can be added. */
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

/** By how much a total is more than it was when it was last asked for. */
function createGrowth(): (key: string, total: number) => number {
  const totals = new Map<string, number>();
  return (key, total) => {
    const growth = total - (totals.get(key) ?? 0);
    totals.set(key, total);
    return growth;
  };
}
