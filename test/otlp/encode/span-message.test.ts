import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { type Resourced, SCOPE } from '../../../src/otlp/encode/otlp-request.ts';
import { readableSpan } from '../../../src/otlp/encode/readable-span.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import type { Span } from '../../../src/tracer/span.ts';
import { fc } from '../../seed.ts';
import { ENCODINGS } from '../export/serialised.ts';
import { spans, usualSpan } from './arbitrary-items.ts';
import { decodeSpans, readJson } from './official-otlp.ts';

const { encode } = SIGNALS.traces;
const SHOP = serviceResource('shop', { team: 'checkout' });
const BILLING = resourceFromAttributes(
  { 'service.name': 'billing', zones: ['a', 'b'], odd: [1, 2.5, true], none: [] },
  { schemaUrl: 'https://opentelemetry.io/schemas/1.44.0' },
);

function encodedBySdk(data: readonly Resourced<Span>[]): Uint8Array {
  const all = data.flatMap(({ resource, items }) => items.map((span) => readableSpan(span, resource)));
  const bytes = ProtobufTraceSerializer.serializeRequest(all);
  assert.ok(bytes !== undefined);
  return bytes;
}

test('any span is encoded as by the SDK, field by field, in each encoding', () => {
  fc.assert(
    fc.property(
      fc.array(spans, { minLength: 1, maxLength: 4 }),
      fc.array(spans, { minLength: 1, maxLength: 4 }),
      (ofShop, ofBilling) => {
        const data = [
          { resource: SHOP, items: ofShop },
          { resource: BILLING, items: ofBilling },
        ];
        const theirs = decodeSpans(encodedBySdk(data));
        for (const encoding of ENCODINGS)
          assert.deepEqual(decodeSpans(encode[encoding](data), encoding), theirs);
      },
    ),
    { numRuns: 150 },
  );
});

test('usual spans are what the SDK writes in JSON', () => {
  const failed: Span = {
    ...usualSpan(7),
    isParentRemote: true,
    error: { description: 'no address for order 17' },
    links: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: {} }],
    events: [{ name: 'exception', timeMs: 1795311504038.5, attributes: { 'exception.type': 'ValueError' } }],
  };
  for (const resource of [SHOP, BILLING]) {
    const items = [usualSpan(1), { ...usualSpan(2), parentSpanId: '', traceState: '' }, failed];
    const theirs = JsonTraceSerializer.serializeRequest(items.map((span) => readableSpan(span, resource)));
    assert.deepEqual(readJson(encode.json([{ resource, items }])), readJson(theirs));
  }
});

test('in JSON the URL of a schema is beside the resource and the scope that it describes', () => {
  const json = Buffer.from(encode.json([{ resource: BILLING, items: [usualSpan(1)] }])).toString();
  const [{ resource, schemaUrl, scopeSpans }] = JSON.parse(json).resourceSpans;
  assert.equal(schemaUrl, 'https://opentelemetry.io/schemas/1.44.0');
  assert.deepEqual(Object.keys(resource), ['attributes', 'droppedAttributesCount']);
  assert.deepEqual(Object.keys(scopeSpans[0].scope), ['name', 'version']);
  assert.equal(scopeSpans[0].schemaUrl, SCOPE.schemaUrl);
});

test('numbers in JSON are numbers, unless a reader would take them for others', () => {
  const attributes = { whole: 2 ** 53 - 1, large: -(2 ** 63), half: 0.5, huge: 2 ** 63, none: Number.NaN };
  const items = [{ ...usualSpan(1), shared: { endless: Number.NEGATIVE_INFINITY }, attributes }];
  const json = Buffer.from(encode.json([{ resource: SHOP, items }])).toString();
  const [span] = JSON.parse(json).resourceSpans[0].scopeSpans[0].spans;
  assert.deepEqual(
    span.attributes.map(({ value }: { value: unknown }) => value),
    [
      { doubleValue: '-Infinity' },
      { intValue: 9_007_199_254_740_991 },
      { intValue: '-9223372036854775808' },
      { doubleValue: 0.5 },
      { doubleValue: 2 ** 63 },
      { doubleValue: 'NaN' },
    ],
  );
});

test('times are exact to the nanosecond, and what backends cannot hold is the nearest that they can', () => {
  const nanosOf = (startMs: number): unknown => {
    const { resourceSpans } = decodeSpans(
      encode.protobuf([{ resource: SHOP, items: [{ ...usualSpan(1), startMs }] }]),
    );
    assert.ok(Array.isArray(resourceSpans));
    return resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano;
  };
  assert.equal(nanosOf(1795311503949.125), '1795311503949125000');
  // The nearest number has 244 ns steps, and all of its bits count.
  assert.equal(nanosOf(1795311503949 + 2 ** -12), '1795311503949000244');
  assert.equal(nanosOf(999.9999999), '1000000000');
  for (const ms of [0, -5, Number.NaN, Number.NEGATIVE_INFINITY]) assert.equal(nanosOf(ms), '0');
  for (const ms of [1e300, Number.POSITIVE_INFINITY]) assert.equal(nanosOf(ms), '9223372036854000000');
});

test('a duration is a double even if it is whole, in both encodings, and other numbers keep their type', () => {
  const quoted = '"key":"celery.task.wait_time","value":{"intValue":5}';
  const attributes = {
    'celery.task.wait_time': 0,
    'celery.task.queue_time': 3,
    'celery.task.prefetch_time': 1.5,
    'celery.task.retries': 2,
    'celery.task.args': quoted,
  };
  const span: Span = { ...usualSpan(1), shared: {}, attributes };
  const { resourceSpans } = decodeSpans(encode.protobuf([{ resource: SHOP, items: [span] }]));
  assert.ok(Array.isArray(resourceSpans));
  const { scope, schemaUrl, spans: encoded } = resourceSpans[0].scopeSpans[0];
  assert.deepEqual(
    encoded[0].attributes.map(({ value }: { value: { value: string } }) => value.value),
    ['doubleValue', 'doubleValue', 'doubleValue', 'intValue', 'stringValue'],
  );
  assert.equal(scope.name, 'celery-otel');
  assert.match(schemaUrl, /^https:\/\/opentelemetry\.io\/schemas\/1\.\d+\.0$/u);
  assert.equal(resourceSpans[0].schemaUrl, schemaUrl);
  const json = new TextDecoder().decode(encode.json([{ resource: SHOP, items: [span] }]));
  const [written] = JSON.parse(json).resourceSpans[0].scopeSpans[0].spans;
  assert.deepEqual(
    written.attributes.map(({ value }: { value: unknown }) => value),
    [{ doubleValue: 0 }, { doubleValue: 3 }, { doubleValue: 1.5 }, { intValue: 2 }, { stringValue: quoted }],
  );
});

test('the encoding of shared attributes belongs to their object', () => {
  const one = { key: 'one' };
  const other = { key: 'other' };
  const items = [one, other, {}, one].map((shared, index) => ({
    ...usualSpan(index),
    shared,
    attributes: {},
  }));
  for (const encoding of ENCODINGS) {
    const { resourceSpans } = decodeSpans(encode[encoding]([{ resource: SHOP, items }]), encoding);
    assert.ok(Array.isArray(resourceSpans));
    assert.deepEqual(
      resourceSpans[0].scopeSpans[0].spans.map(
        (span: { attributes: { value: { stringValue: string } }[] }) => span.attributes[0]?.value.stringValue,
      ),
      ['one', 'other', undefined, 'one'],
    );
  }
});
