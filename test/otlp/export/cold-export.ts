/**
 * A process that exports once, with no code warmed up, and reports its longest event loop turn. Its only argument
 * describes the export, as JSON. It is run with `--single-threaded-gc`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EndedExport } from '../../../src/otlp/backend.ts';
import type { ExporterSettings, StreamSettings } from '../../../src/otlp/otlp-settings.ts';
import { createPipeline } from '../../../src/otlp/pipeline.ts';
import type { Provider } from '../../../src/otlp/provider.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { createYieldToLoop } from '../../../src/timing/cooperative.ts';
import { longestTurnMs } from '../../longest-turn.ts';
import { otlpSettings } from '../settings.ts';

export interface ColdExport {
  readonly endpoint: string;
  readonly series: number;
  readonly exporter: Pick<ExporterSettings, 'protocol' | 'compression'>;
  readonly streams: Pick<StreamSettings, 'temporality' | 'histograms'>;
}

export interface ColdExportTold {
  readonly outcomes: readonly EndedExport[];
  readonly longestTurnMs: number;
}

const EXPORT_MS_MAX = 20_000;
/** Runtimes from milliseconds to an hour, as many as fill most of the buckets that an exponential histogram has. */
const VALUES_S = Array.from({ length: 20 }, (_, index) => 0.002 * 2 ** index);
const BOUNDARIES_S = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600,
];

function record(provider: Provider, series: number): void {
  const advice = { explicitBucketBoundaries: BOUNDARIES_S };
  const histogram = provider.getMeter('celery-otel').createHistogram('celery.task.runtime', { advice });
  for (let index = 0; index < series; index += 1) {
    const attributes = Object.freeze({
      'celery.task.name': `shop.orders.tasks.task_${index}`,
      'celery.task.state': 'SUCCESS',
      'celery.worker.name': `celery@worker-${index % 100}.shop.svc.cluster.local`,
      'celery.queue.name': `orders-${index % 7}`,
      'messaging.destination.name': `orders-${index % 7}`,
      'error.type': `shop.orders.errors.Error${index % 11}`,
    });
    for (const value of VALUES_S) histogram.record(value * (1 + (index % 10) / 10), attributes);
  }
}

const { endpoint, series, exporter, streams }: ColdExport = JSON.parse(process.argv[2] ?? '');
const limit = series + 1;
const outcomes: EndedExport[] = [];
const pipeline = createPipeline({
  settings: otlpSettings(endpoint, {
    exporter,
    streams: { ...streams, limits: { counter: limit, histogram: limit, gauge: limit } },
  }),
  onExport: (_, outcome) => outcomes.push(outcome),
  onDefect: (_, reason) => {
    throw reason;
  },
  random: () => 0,
  yieldToLoop: createYieldToLoop(),
});
const provider = pipeline.open('shop', serviceResource('shop', {}), { combination: () => 'max' });
record(provider, series);
await nextTurn();
const reported: ColdExportTold = {
  // Run it without the garbage collector’s threads, for which a turn would wait.
  longestTurnMs: await longestTurnMs(() => pipeline.close([[provider]], EXPORT_MS_MAX)),
  outcomes,
};
process.stdout.write(JSON.stringify(reported));
