/** From the bytes of events to the bytes of exports: whatever numbers the fields contain, points are valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodePoints } from '../examples/demo/otlp-points.ts';
import { decode } from '../src/celery/decode.ts';
import type { CeleryEvent } from '../src/celery/event.ts';
import { NUMERIC_FIELDS } from '../src/celery/numeric-fields.ts';
import { createCluster } from '../src/cluster/cluster.ts';
import { combinationOf, METRIC_NAMES, METRICS, OPT_INS } from '../src/meter/catalog.ts';
import { createRecorder } from '../src/meter/recorder.ts';
import { createProvider } from '../src/otlp/provider.ts';
import { serviceResource } from '../src/otlp/resource.ts';
import { message, WIRE_EVENTS } from './celery/wire.ts';
import { collectAt } from './cluster/collection.ts';
import { SETTINGS } from './cluster/events.ts';
import { serialised } from './otlp/export/serialised.ts';
import { otlpSettings } from './otlp/settings.ts';
import { fc } from './seed.ts';

const T0_MS = 1_795_260_275_000;
const TYPES = Object.keys(WIRE_EVENTS).filter((type): type is CeleryEvent['type'] => type in WIRE_EVENTS);

/** As in JSON; those beyond a double are infinite after parsing. */
const numbers = fc.oneof(
  fc.double().map((value) => (Number.isFinite(value) ? String(value) : '1e999')),
  fc.integer().map(String),
  fc.constantFrom(
    ...['NaN', 'Infinity', '-Infinity', '1e999', '-1e999', '-0', '1e-320', '1.7e308', '1e20', '-1'],
  ),
  fc.constantFrom(
    ...['9007199254740991', '9007199254740993', '9223372036854775808', '4294967296', '0.5', '1e15'],
  ),
);
const events = fc.record({
  type: fc.constantFrom(...TYPES),
  hostname: fc.constantFrom('w1@shop', 'w2@shop'),
  uuid: fc.constantFrom('u1', 'u2'),
  /** Put into that field, into one of its elements where it has several. */
  field: fc.constantFrom(...Object.keys(NUMERIC_FIELDS), 'none'),
  number: numbers,
  afterMs: fc.integer({ min: 0, max: 40_000 }),
});
type Sent = typeof events extends fc.Arbitrary<infer E> ? E : never;

const PLACEHOLDER = 'the number';

function bodyOf({ type, hostname, uuid, field, number }: Sent, nowMs: number): string {
  const plain = { ...WIRE_EVENTS[type], hostname, uuid, timestamp: nowMs / 1_000, runtime: 0.25 };
  const value = field === 'loadavg' ? [0.5, PLACEHOLDER, 0.5] : PLACEHOLDER;
  const body = field === 'none' ? plain : { ...plain, [field]: value };
  return JSON.stringify(body).replaceAll(`"${PLACEHOLDER}"`, number);
}

function checkPoints(request: Uint8Array): void {
  for (const point of decodePoints(request)) {
    const name = JSON.stringify(point);
    assert.ok(Number.isFinite(point.value) && point.value >= 0, name);
    assert.ok(Number.isFinite(point.sum) && point.sum >= 0, name);
    assert.ok(point.kind === 'gauge' || point.startMs < point.timeMs, name);
    const row = Object.entries(METRICS).find(([metric]) => metric === point.metric)?.[1];
    if (row?.valueType === 'int') assert.ok(Number.isSafeInteger(point.value), name);
  }
}

test('whatever numbers events contain, each exported point is finite, not negative and in the range of its type', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(events, { minLength: 5, maxLength: 60 }),
      fc.constantFrom('cumulative', 'delta'),
      fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      async (sent, temporality, arrives) => {
        let nowMs = T0_MS;
        const provider = createProvider({
          name: 'shop',
          resource: serviceResource('shop', {}),
          settings: otlpSettings('', { streams: { temporality } }).streams,
          combination: combinationOf,
          onFailure: assert.ifError,
          nowMs: () => nowMs,
          steadyMs: () => nowMs,
          yieldToLoop: async () => {},
        });
        const cluster = createCluster(SETTINGS, (observation) => recorder.record(observation));
        const recorder = createRecorder(provider.getMeter('celery-otel'), () => collectAt(cluster, nowMs), {
          metrics: new Set(METRIC_NAMES),
          optIns: new Set(OPT_INS),
        });
        async function exportAll(isTaken: boolean): Promise<void> {
          nowMs += 5_000;
          for (const request of await provider.collect()) {
            checkPoints(serialised(request.data(), 'protobuf'));
            const json = new TextDecoder().decode(serialised(request.data(), 'json'));
            assert.doesNotMatch(json, /null|NaN|Infinity|"asInt":"?-?\d*[.e]/u);
            if (isTaken) request.acknowledge();
          }
        }
        for (const [index, each] of sent.entries()) {
          nowMs += each.afterMs;
          const body = Buffer.from(bodyOf(each, nowMs));
          for (const event of decode(message(body)).events) cluster.apply(event, nowMs, nowMs);
          if (index % 20 === 19) await exportAll(arrives[index % arrives.length] ?? true);
        }
        await exportAll(true);
      },
    ),
    { numRuns: 300 },
  );
});
