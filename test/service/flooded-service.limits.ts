/** A service after a burst: everything becomes due at once, which must not delay other services. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DataPointType, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { combinationOf, METER_NAME } from '../../src/meter/catalog.ts';
import type { ExportRequest } from '../../src/otlp/export/export-request.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { openService } from '../../src/service/service.ts';
import { createYieldToLoop } from '../../src/timing/cooperative.ts';
import { bound } from '../bound.ts';
import { longestTurnMs } from '../longest-turn.ts';
import { otlpSettings } from '../otlp/settings.ts';
import { type RecordedEvent, recordedService } from './recorded-service.ts';

const TASKS = 50_000;
const WORKERS = 5_000;
/** Some hundred ms if all of them are observed in one turn. */
const TURN_MS_MAX = 100;

/** Each task has its own name; half of them have started, and every worker has sent two events. */
function burst(): readonly RecordedEvent[] {
  const afterMs = 0;
  return Array.from({ length: TASKS }, (_, index): readonly RecordedEvent[] => {
    const hostname = `celery@pod-${index % WORKERS}`;
    const of = { hostname, uuid: `u${index}` };
    const said = { hostname, processed: Math.floor(index / WORKERS), active: 5, clock: index };
    return [
      { afterMs, type: 'task-received', fields: { ...of, name: `tenant_${index}.pay` } },
      ...(index % 2 === 0 ? [{ afterMs, type: 'task-started', fields: of }] : []),
      ...(index < 2 * WORKERS ? [{ afterMs, type: 'worker-heartbeat', fields: said }] : []),
    ];
  }).flat();
}

test(`${TASKS} names and ${WORKERS} workers in one burst: no event loop turn of the next collections takes ${TURN_MS_MAX} ms`, {
  timeout: 60_000,
}, async (t) => {
  const events = burst();
  // Nothing comes for an hour after it.
  const later: RecordedEvent = { afterMs: 3_600_000, type: 'worker-heartbeat' };
  const { streams } = otlpSettings('http://127.0.0.1:1');
  const yieldToLoop = createYieldToLoop();
  const provider = createProvider({
    ...{
      name: 'shop',
      resource: serviceResource('shop', {}),
      settings: streams,
      combination: combinationOf,
      yieldToLoop,
    },
    onFailure: (reason) => {
      throw reason;
    },
  });
  const config = recordedService(t, 'shop', [...events, later], '1');
  let counted = 0;
  const service = openService({
    ...config,
    polling: config,
    metrics: {
      meter: provider.getMeter(METER_NAME),
      choice: config.choice,
      retire: () => {},
      countEvent: () => {
        counted += 1;
      },
    },
    report: (reported) => assert.notEqual(reported.kind, 'defect'),
    random: () => 0,
    yieldToLoop,
  });
  t.after(() => service.stop());
  while (counted < events.length) await delay(10);
  const { windowMs } = config.cluster;
  await delay(windowMs + 500);
  assert.equal(service.state().tables.reordering_window.size, TASKS * 1.5);

  for (let collection = 1; collection <= 3; collection += 1) {
    let requests: readonly ExportRequest<ResourceMetrics>[] = [];
    const turnMs = await longestTurnMs(async () => {
      requests = await provider.collect();
    });
    assert.equal(sumOf(requests, 'celery.task.received'), TASKS);
    assert.equal(service.state().tables.reordering_window.size, 0);
    bound(t, `longest turn of collection ${collection} after a burst`, turnMs, TURN_MS_MAX, 'ms');
  }
});

function sumOf(requests: readonly ExportRequest<ResourceMetrics>[], metric: string): number {
  return requests
    .flatMap((request) => request.data().scopeMetrics.flatMap(({ metrics }) => metrics))
    .filter(({ descriptor }) => descriptor.name === metric)
    .flatMap((data) => (data.dataPointType === DataPointType.SUM ? data.dataPoints : []))
    .reduce((sum, { value }) => sum + value, 0);
}
