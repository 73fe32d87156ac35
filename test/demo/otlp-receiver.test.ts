/** The receiver of the demo, which most tests wait for: what it reports after a time-out. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { total } from '../../examples/demo/otlp-points.ts';
import { type Receiver, startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { DEADLINE_MS } from '../deadline.ts';

const NEVER_MS = 3_600_000;

async function receiver(t: TestContext): Promise<Receiver> {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  return sink;
}

/** Exports once: of each of these metrics so many points. */
async function exportTo({ url }: Receiver, service: string, metrics: Readonly<Record<string, number>>) {
  const exporter = new OTLPMetricExporter({ url });
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: NEVER_MS })],
  });
  for (const [name, points] of Object.entries(metrics)) {
    const counter = provider.getMeter('test').createCounter(name);
    for (let point = 0; point < points; point += 1) counter.add(1, { point });
  }
  await provider.shutdown();
}

async function failure(waiting: Promise<unknown>): Promise<Error> {
  const error: unknown = await waiting.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error, 'it did not fail');
  return error;
}

test('a wait that times out reports what was expected and what has arrived', async (t) => {
  const sink = await receiver(t);
  await exportTo(sink, 'mail', { sent: 1 });
  await exportTo(sink, 'shop', { sent: 3, failed: 1 });
  const error = await failure(sink.waitFor('shop', (points) => total(points, 'sent') === 4, 50));
  assert.equal(
    error.message,
    "within 50 ms, no points of shop satisfied: (points) => total(points, 'sent') === 4; " +
      'points of its newest export, with their sums: sent 3 (3), failed 1 (1); requests: 2; other services: mail',
  );
  assert.ok(error.cause instanceof Error && error.cause.name === 'AbortError');
});

test('if nothing arrived, the report says so', async (t) => {
  const sink = await receiver(t);
  const { message } = await failure(sink.waitFor('shop', (points) => points.length > 0, 20));
  assert.match(
    message,
    /; points of its newest export, with their sums: none; requests: 0; other services: none$/u,
  );
});

test('the report has a bounded length', async (t) => {
  const sink = await receiver(t);
  await exportTo(
    sink,
    'shop',
    Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`metric_${index}`, 1])),
  );
  // Like a function with a long text.
  const condition = () =>
    'x'.length ===
    'a text that goes on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on and on'
      .length;
  const { message } = await failure(sink.waitFor('shop', condition, 20));
  assert.match(
    message,
    /^within 20 ms, no points of shop satisfied: .{300}; points of its newest export, with their sums: metric_0 1 \(1\), /u,
  );
  assert.match(message, / metric_19 1 \(1\) and 30 more; requests: 1/u);
  assert.ok(message.length < 1000, message);
});

test('an export in several requests is one export to all waiters', async (t) => {
  const sink = await receiver(t);
  await exportTo(sink, 'shop', { sent: 1000 });
  await exportTo(sink, 'shop', { failed: 5 });
  const whole = await sink.waitFor('shop', (points) => total(points, 'failed') === 5, DEADLINE_MS);
  assert.equal(total(whole, 'sent'), 1000);
  await exportTo(sink, 'shop', { sent: 1000 });
  assert.equal(sink.latest('shop').length, 1005, 'the rest of the next one is still to come');
  await exportTo(sink, 'shop', { failed: 4 });
  assert.equal(sink.latest('shop').length, 1004, 'one failed no more');
  assert.equal(sink.exports(), 4);
});

test('points that have arrived, or arrive in time, end the wait', async (t) => {
  const sink = await receiver(t);
  const waiting = sink.waitFor('shop', (points) => total(points, 'sent') === 1, DEADLINE_MS);
  await exportTo(sink, 'shop', { sent: 1 });
  assert.equal(total(await waiting, 'sent'), 1);
  assert.equal((await sink.waitFor('shop', (points) => points.length === 1, DEADLINE_MS)).length, 1);
});
