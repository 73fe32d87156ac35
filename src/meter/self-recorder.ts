/**
 * The bridge's own metrics out of what happens to it. The same facts become log lines elsewhere; here they are only
 * counted, under the attributes that the second table of the catalog gives them.
 */
import type { BatchObservableResult, Meter } from '@opentelemetry/api';
import type { SelfEvent } from '../self/self-event.ts';
import { SELF_METRICS, type SelfMetricName } from './catalog.ts';
import { makeCounter } from './instruments.ts';

export interface SelfRecorder {
  record(event: SelfEvent): void;
  /** Counts a Celery event that was read; called for each, so it is kept apart from the rarer facts. */
  eventRead(service: string, type: string): void;
  close(): void;
}

export function createSelfRecorder(meter: Meter): SelfRecorder {
  const counter = (name: SelfMetricName) => makeCounter(meter, name, SELF_METRICS[name]);
  const events = counter('celery_otel.events');
  const dropped = counter('celery_otel.input.dropped');
  const sessions = counter('celery_otel.broker.sessions');
  const evictions = counter('celery_otel.table.evictions');
  const exports = counter('celery_otel.exports');
  const counters = [events, dropped, sessions, evictions, exports];

  // An SDK asks its observables first, then reads the other instruments of the meter; this gauge is the hook for that
  // and a sign of life at once.
  const up = meter.createObservableGauge('celery_otel.up', SELF_METRICS['celery_otel.up']);
  function collect(result: BatchObservableResult): void {
    for (const each of counters) each.flush();
    result.observe(up, 1);
  }
  meter.addBatchObservableCallback(collect, [up]);

  return {
    eventRead: (service, type) => events.add(1, [service, type]),
    record(event) {
      switch (event.kind) {
        case 'input-dropped':
          return dropped.add(1, [event.service, event.reason, event.intentional]);
        case 'broker-session-ended':
          return sessions.add(1, [event.service, event.end]);
        case 'table-evicted':
          return evictions.add(event.count, [event.service, event.table]);
        case 'export-finished':
          return exports.add(1, [event.service, event.outcome]);
        case 'broker-connected':
        case 'service-started':
        case 'service-stopping':
        case 'service-stopped':
          return;
        case 'defect':
          return dropped.add(1, [event.service, 'defect', false]);
      }
    },
    close() {
      for (const each of counters) each.flush();
      meter.removeBatchObservableCallback(collect, [up]);
    },
  };
}
