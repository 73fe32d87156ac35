import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { exportSource } from '../../../src/otlp/export/export-source.ts';
import { createProvider } from '../../../src/otlp/provider.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import type { Exporter } from '../../../src/otlp/send/exporter.ts';
import { otlpSettings } from '../settings.ts';
import { ENCODINGS, type Encoding, serialised } from './serialised.ts';

const SERIES = 10_000;
const TURN_MS_MAX = 50;
/** Another program may hold a run up, and the first one has still to be compiled. */
const RUNS_MAX = 6;

/** How long the event loop was held up at most while it went on. */
async function longestTurnMs(work: () => Promise<void>): Promise<number> {
  let longestMs = 0;
  let isOver = false;
  let lastMs = performance.now();
  async function watch(): Promise<void> {
    while (!isOver) {
      await nextTurn();
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    }
  }
  const watching = watch();
  await work();
  isOver = true;
  await watching;
  return longestMs;
}

/** Takes what a transport does of a request, and as many turns as one at least. */
function exporterOf(encoding: Encoding): Pick<Exporter, 'export'> & { readonly points: number } {
  let points = 0;
  return {
    get points() {
      return points;
    },
    async export(metrics) {
      serialised(metrics, encoding);
      for (const { dataPoints } of metrics.scopeMetrics.flatMap((scope) => scope.metrics))
        points += dataPoints.length;
      await nextTurn();
      return { kind: 'success' };
    },
  };
}

for (const histograms of ['explicit_bucket_histogram', 'base2_exponential_bucket_histogram'] as const) {
  for (const temporality of ['cumulative', 'delta'] as const) {
    for (const encoding of ENCODINGS) {
      test(`exporting ${SERIES} series of an ${histograms} holds nothing up for long (${temporality}, ${encoding})`, async () => {
        const limit = SERIES + 1;
        const provider = createProvider({
          name: 'shop',
          resource: serviceResource('shop', {}),
          settings: otlpSettings('', {
            streams: { histograms, temporality, limits: { counter: limit, histogram: limit, gauge: limit } },
          }).streams,
          onFailure: assert.ifError,
        });
        const histogram = provider.getMeter('celery-otel').createHistogram('celery.task.runtime');
        const attributes = Array.from({ length: SERIES }, (_, index) =>
          Object.freeze({ 'celery.task.name': `tasks.task_${index}`, 'celery.worker.name': 'celery@worker' }),
        );
        const turnsMs = [Infinity];
        while (Math.min(...turnsMs) >= TURN_MS_MAX && turnsMs.length <= RUNS_MAX) {
          for (const each of attributes)
            for (const value of [0.01, 1, 30, 500]) histogram.record(value, each);
          const exporter = exporterOf(encoding);
          turnsMs.push(
            await longestTurnMs(async () => {
              await exportSource(provider, exporter, () => undefined);
            }),
          );
          assert.equal(exporter.points, SERIES);
        }
        assert.ok(Math.min(...turnsMs) < TURN_MS_MAX, `${turnsMs.map(Math.round).join(', ')} ms`);
      });
    }
  }
}
