import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { createProvider, type ProviderOptions } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { pointsOf } from './collect/reading.ts';
import { otlpSettings, type SettingsOverrides } from './settings.ts';

const RESOURCE = serviceResource('shop', { team: 'checkout' });

function providerOf(
  options: Partial<ProviderOptions> & { readonly streams?: SettingsOverrides['streams'] } = {},
) {
  const { streams = {}, ...others } = options;
  const failures: unknown[] = [];
  const provider = createProvider({
    name: 'shop',
    resource: RESOURCE,
    settings: otlpSettings('', { streams }).streams,
    onFailure: (reason) => failures.push(reason),
    ...others,
  });
  return {
    provider,
    failures,
    meter: provider.getMeter('celery-otel', '1.2.3'),
    /** As if all of it had arrived. */
    async exportAll(): Promise<readonly ResourceMetrics[]> {
      const requests = await provider.collect();
      const sent = requests.map((request) => request.data());
      for (const request of requests) request.acknowledge();
      return sent;
    },
  };
}

const metricsOf = (sent: readonly ResourceMetrics[]): readonly MetricData[] =>
  sent.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));

/** Name, attributes and total of each point. */
const summaryOf = (sent: readonly ResourceMetrics[]) =>
  metricsOf(sent).flatMap((metric) =>
    pointsOf(metric).map(({ attributes, total }) => [metric.descriptor.name, attributes, total]),
  );

test('what is recorded before a collection is part of it, also if another preparation fails', async () => {
  const { provider, meter, failures, exportAll } = providerOf();
  const counter = meter.createCounter('sent');
  const reason = new Error('no view');
  provider.beforeCollect(() => Promise.reject(reason));
  provider.beforeCollect(async () => counter.add(2));
  assert.deepEqual(summaryOf(await exportAll()), [['sent', {}, 2]]);
  assert.deepEqual(summaryOf(await exportAll()), [['sent', {}, 4]]);
  assert.deepEqual(failures, [reason, reason]);
});

test('measurements are in a request, under their resource and scope', async () => {
  const { provider, meter, exportAll } = providerOf();
  meter.createCounter('sent', { unit: '{task}' }).add(5, { queue: 'q' });
  provider
    .getMeter('celery-otel', '1.2.3', { schemaUrl: 'https://example.com/1' })
    .createHistogram('runtime')
    .record(2);
  const [request, ...others] = await exportAll();
  assert.deepEqual(others, []);
  assert.equal(request?.resource, RESOURCE);
  assert.deepEqual(
    request.scopeMetrics.map(({ scope }) => scope),
    [
      { name: 'celery-otel', version: '1.2.3' },
      { name: 'celery-otel', version: '1.2.3', schemaUrl: 'https://example.com/1' },
    ],
  );
  assert.deepEqual(summaryOf([request]), [
    ['sent', { queue: 'q' }, 5],
    ['runtime', {}, 2],
  ]);
});
