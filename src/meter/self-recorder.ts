/**
 * The bridge's own metrics out of what happens to it. The same facts become log lines elsewhere; here they are only
 * counted, under the attributes that the second table of the catalog gives them.
 */
import type { Meter } from '@opentelemetry/api';
import type { SelfEvent } from '../self/self-event.ts';
import { SELF_METRICS } from './catalog.ts';
import type { CounterSeries } from './coalescing-counter.ts';
import { createInstruments } from './instruments.ts';

export interface SelfRecorder {
  record(event: SelfEvent): void;
  /** What counts the Celery events of a service that are read: called for each, so apart from the rarer facts. */
  eventsOf(service: string): (type: string) => void;
  close(): void;
}

export function createSelfRecorder(meter: Meter): SelfRecorder {
  const { add, counterSeries, close } = createInstruments({
    meter,
    table: SELF_METRICS,
    isOn: () => true,
    onCollect: (observe) => observe('celery_otel.up', 1, []),
  });
  return {
    eventsOf(service) {
      const byType = new Map<string, CounterSeries>();
      return (type) => {
        let series = byType.get(type);
        if (series === undefined) {
          series = counterSeries('celery_otel.events', [service, type]);
          byType.set(type, series);
        }
        series.add(1);
      };
    },
    record(event) {
      switch (event.kind) {
        case 'input-dropped':
          return add('celery_otel.input.dropped', [event.service, event.reason, event.intentional]);
        case 'broker-session-ended':
          return add('celery_otel.broker.sessions', [event.service, event.end]);
        case 'table-evicted':
          return add('celery_otel.table.evictions', [event.service, event.table], event.count);
        case 'clock-skewed':
          return add('celery_otel.clock.skews', [event.service, event.senderHost, event.workerHost]);
        case 'export-finished':
          return add('celery_otel.exports', [event.service, event.outcome]);
        case 'broker-connected':
        case 'service-started':
        case 'service-stopping':
        case 'service-stopped':
          return;
        case 'defect':
          return add('celery_otel.input.dropped', [event.service, 'defect', false]);
      }
    },
    close,
  };
}
