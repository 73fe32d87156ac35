import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { AggregationTemporality, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { exportSource } from '../../src/otlp/export/export-source.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import type { Exporter, ExportResult } from '../../src/otlp/send/exporter.ts';
import { fc } from '../seed.ts';
import { pointsOf } from './collect/reading.ts';
import { REFUSED, SUCCESS, UNAVAILABLE } from './export/scripted-exporter.ts';
import { otlpSettings } from './settings.ts';

const PARTIAL: ExportResult = { kind: 'partial', rejectedItems: 0, message: 'beware' };

const measurement = fc.record({
  name: fc.constantFrom('sent', 'cpu', 'runtime', 'wait'),
  worker: fc.nat(7),
  amount: fc.nat(100).map((eighths) => eighths / 8),
});
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: measurement },
    { weight: 1, arbitrary: fc.record({ retired: fc.uniqueArray(fc.nat(7), { maxLength: 3 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        answers: fc.array(fc.constantFrom(SUCCESS, SUCCESS, PARTIAL, REFUSED, UNAVAILABLE), { maxLength: 6 }),
        /** Measured while the first request is under way. */
        meanwhile: fc.array(measurement, { maxLength: 2 }),
      }),
    },
  ),
  { minLength: 20, maxLength: 60 },
);

const LIMIT = 4;

/** What a backend adds up: the sum of each metric. */
class Backend implements Pick<Exporter<ResourceMetrics>, 'export'> {
  readonly #last = new Map<string, { readonly metric: string; readonly total: number }>();
  answers: ExportResult[] = [];
  onRequest = (): void => {};

  async export(metrics: ResourceMetrics): Promise<ExportResult> {
    this.onRequest();
    const answer = this.answers.shift() ?? SUCCESS;
    if (answer === SUCCESS || answer === PARTIAL) this.#take(metrics);
    return answer;
  }

  totalOf(metric: string): number {
    return [...this.#last.values()]
      .filter((series) => series.metric === metric)
      .reduce((sum, { total }) => sum + total, 0);
  }

  #take({ scopeMetrics }: ResourceMetrics): void {
    for (const metric of scopeMetrics.flatMap(({ metrics }) => metrics)) {
      const { name } = metric.descriptor;
      const isDelta = metric.aggregationTemporality === AggregationTemporality.DELTA;
      for (const { attributes, startMs, endMs, total } of pointsOf(metric)) {
        const key = JSON.stringify([name, attributes, startMs, ...(isDelta ? [endMs] : [])]);
        assert.ok(!isDelta || !this.#last.has(key), `${key} came twice`);
        this.#last.set(key, { metric: name, total });
      }
    }
  }
}

for (const temporality of ['cumulative', 'delta'] as const) {
  test(`whatever is refused, lost or retired, all measurements arrive once (${temporality})`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), async (chosen, pointsPerRequestMax) => {
        let nowMs = 0;
        const provider = createProvider({
          name: 'shop',
          resource: serviceResource('shop', {}),
          settings: otlpSettings('', {
            streams: { temporality, limits: { counter: LIMIT, histogram: LIMIT, gauge: LIMIT } },
          }).streams,
          pointsPerRequestMax,
          onFailure: assert.ifError,
          nowMs: () => (nowMs += 1),
        });
        const meter = provider.getMeter('celery-otel');
        const [sent, cpu] = ['sent', 'cpu'].map((name) => meter.createCounter(name));
        const [runtime, wait] = ['runtime', 'wait'].map((name) => meter.createHistogram(name));
        const measures = {
          sent: (amount: number, of: Attributes) => sent?.add(amount, of),
          cpu: (amount: number, of: Attributes) => cpu?.add(amount, of),
          runtime: (amount: number, of: Attributes) => runtime?.record(amount, of),
          wait: (amount: number, of: Attributes) => wait?.record(amount, of),
        };
        const measured = { sent: 0, cpu: 0, runtime: 0, wait: 0 };
        const measure = ({
          name,
          worker,
          amount,
        }: {
          name: keyof typeof measured;
          worker: number;
          amount: number;
        }) => {
          measures[name](amount, { worker: `w${worker}` });
          measured[name] += amount;
        };
        const backend = new Backend();
        for (const step of chosen) {
          if ('retired' in step)
            provider.retire('worker', new Set(step.retired.map((worker) => `w${worker}`)));
          else if ('answers' in step) {
            backend.answers = [...step.answers];
            const meanwhile = [...step.meanwhile];
            backend.onRequest = () => meanwhile.splice(0).forEach(measure);
            await exportSource(provider, { exporter: backend, mustStop: () => undefined });
          } else measure(step);
        }
        backend.answers = [];
        backend.onRequest = () => {};
        assert.equal(
          (await exportSource(provider, { exporter: backend, mustStop: () => undefined })).outcome?.outcome,
          'success',
        );
        for (const [name, total] of Object.entries(measured))
          assert.equal(backend.totalOf(name), total, name);
        assert.ok(provider.tally().live <= 4 * LIMIT);
      }),
      { numRuns: 300 },
    );
  });
}
