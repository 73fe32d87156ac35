/** What every exporter has: its metrics, its end, and requests that cannot be encoded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { DEADLINE_MS } from '../../deadline.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';

/** A meter provider with readable points. */
function observer() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e6 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  return {
    meterProvider,
    /** Name → its points, each as its attributes and its value, or how often it was measured. */
    async points(): Promise<ReadonlyMap<string, readonly unknown[]>> {
      exporter.reset();
      await meterProvider.forceFlush();
      return new Map(exporter.getMetrics().flatMap(pointsByName));
    },
    stop: () => meterProvider.shutdown(),
  };
}

function pointsByName({ scopeMetrics }: ResourceMetrics): readonly (readonly [string, readonly unknown[]])[] {
  return scopeMetrics.flatMap(({ metrics }) =>
    metrics.map(
      ({ descriptor, dataPoints }) =>
        [
          descriptor.name,
          dataPoints.map(({ attributes, value }) => {
            const { 'otel.component.name': name, ...others } = attributes;
            return [others, typeof value === 'number' ? value : value.count];
          }),
        ] as const,
    ),
  );
}

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: the SDK’s exporter metrics are recorded if requested`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, { timeoutMs: 300 }));
    const { meterProvider, points, stop } = observer();
    t.after(stop);
    await exporter.export(sampleMetrics());
    exporter.observe(meterProvider);
    await exporter.export(sampleMetrics());
    backend.answer({ kind: 'refuse', message: 'no' });
    await exporter.export(sampleMetrics());
    backend.answer({ kind: 'nothing' });
    await exporter.export(sampleMetrics());

    const grpc = protocol === 'grpc';
    const component = {
      'otel.component.type': grpc ? 'otlp_grpc_metric_exporter' : 'otlp_http_metric_exporter',
      'server.address': '127.0.0.1',
      'server.port': backend.port,
    };
    const failed = { ...component, 'error.type': grpc ? 'Error' : 'OTLPExporterError' };
    const late = { ...component, 'error.type': 'Error' };
    const recorded = await points();
    assert.deepEqual(recorded.get('otel.sdk.exporter.metric_data_point.inflight'), [[component, 0]]);
    assert.deepEqual(
      recorded.get('otel.sdk.exporter.metric_data_point.exported'),
      grpc
        ? [
            [component, 2],
            [failed, 4],
          ]
        : [
            [component, 2],
            [failed, 2],
            [late, 2],
          ],
    );
    const status = (name: string, number: number) =>
      grpc ? { 'rpc.response.status_code': name } : { 'http.response.status_code': number };
    assert.deepEqual(recorded.get('otel.sdk.exporter.operation.duration'), [
      [{ ...component, ...status('OK', 200) }, 1],
      [{ ...failed, ...status('INVALID_ARGUMENT', 400) }, 1],
      [{ ...late, ...(grpc ? status('DEADLINE_EXCEEDED', 0) : {}) }, 1],
    ]);
  });

  test(`${protocol}: closing ends requests in flight, closes all connections and may be repeated`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, { timeoutMs: 60_000 }));
    // HTTP then has two connections, one of them idle at the end.
    await Promise.all([exporter.export(sampleMetrics()), exporter.export(sampleMetrics())]);
    backend.answer({ kind: 'nothing' });
    const underWay = exporter.export(sampleMetrics());
    while (backend.requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    exporter.close();
    exporter.close();
    const ended = await underWay;
    assert.equal(ended.kind, 'unavailable');
    assert.match('reason' in ended ? ended.reason : '', /closed|CANCELLED/u);
    const endMs = performance.now() + DEADLINE_MS;
    while (backend.connections() > 0) {
      assert.ok(performance.now() < endMs, `${backend.connections()} connections are still open`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.deepEqual(await exporter.export(sampleMetrics()), {
      kind: 'unavailable',
      reason: 'the exporter was closed',
    });
    assert.equal(backend.requests.length, 3);
  });

  test(`${protocol}: a request that cannot be encoded is refused, not thrown`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    const { resource, scopeMetrics } = sampleMetrics();
    const broken = {
      resource,
      get scopeMetrics(): typeof scopeMetrics {
        throw new Error('a point without a value');
      },
    };
    assert.deepEqual(await exporter.export(broken), {
      kind: 'refused',
      reason: 'the request could not be created: a point without a value',
    });
    assert.deepEqual(await exporter.export(sampleMetrics()), { kind: 'success' });
  });
}
