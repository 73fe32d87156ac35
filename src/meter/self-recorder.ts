/**
 * The bridge's own metrics out of what happens to it. The same facts become log lines elsewhere; here they are only
 * counted, under the attributes that the second table of the catalog gives them.
 */
import type { Meter } from '@opentelemetry/api';
import type { SelfEvent } from '../self/self-event.ts';
import { SELF_METRICS } from './catalog.ts';
import { createInstruments } from './instruments.ts';

export interface SelfRecorder {
  record(event: SelfEvent): void;
  /** Counts a Celery event that was read; called for each, so it is kept apart from the rarer facts. */
  eventRead(service: string, type: string): void;
  close(): void;
}

export function createSelfRecorder(meter: Meter): SelfRecorder {
  const { add, close } = createInstruments({
    meter,
    table: SELF_METRICS,
    isOn: () => true,
    onCollect: (observe) => observe('celery_otel.up', 1, []),
  });
  return {
    eventRead: (service, type) => add('celery_otel.events', [service, type]),
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
