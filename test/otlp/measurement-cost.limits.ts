/** What a measurement costs in our provider, beside one in the SDK’s. Times differ by machine, so it holds the ratio. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MeterProvider } from '@opentelemetry/api';
import { isBindable } from '../../src/meter/bindable.ts';
import { createProvider } from '../../src/otlp/provider.ts';
import { serviceResource } from '../../src/otlp/resource.ts';
import { bound } from '../bound.ts';
import { plainSdk } from '../plain-sdk.ts';
import { processorMs } from '../processor-time.ts';
import { otlpSettings } from './settings.ts';

/** So many that even ours take some milliseconds. */
const MEASUREMENTS = 400_000;
const ROUNDS = 4;
/** It is a tenth, or less. */
const RATIO_MAX = 0.2;

const ATTRIBUTES = Object.freeze({
  'celery.task.name': 'shop.pay',
  'celery.queue.name': 'orders',
  'celery.worker.name': 'w1@host',
});

/** Records as the bridge does: into a bound series where the provider has such. */
function measurer(provider: MeterProvider): () => void {
  const histogram = provider.getMeter('celery-otel').createHistogram('celery.task.runtime');
  const series = isBindable(histogram) ? histogram.bind(ATTRIBUTES) : undefined;
  const record = series
    ? (seconds: number) => series.record(seconds)
    : (seconds: number) => histogram.record(seconds, ATTRIBUTES);
  return () => {
    for (let index = 0; index < MEASUREMENTS; index += 1) record(index % 100);
  };
}

test('a measurement takes a fifth of one of the SDK at most', (t) => {
  const ours = measurer(
    createProvider({
      name: 'shop',
      resource: serviceResource('shop', {}),
      settings: otlpSettings('').streams,
      onFailure: assert.ifError,
    }),
  );
  const theirs = measurer(plainSdk().provider);
  const rounds = Array.from({ length: ROUNDS }, () => ({
    ours: processorMs(ours),
    theirs: processorMs(theirs),
  }));
  const oursMs = Math.min(...rounds.map((round) => round.ours));
  const theirsMs = Math.min(...rounds.map((round) => round.theirs));
  bound(t, 'a measurement, compared with one of the SDK', oursMs / theirsMs, RATIO_MAX, 'times');
});
