import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Resourced } from '../../../src/otlp/encode/otlp-request.ts';
import { readableSpan } from '../../../src/otlp/encode/readable-span.ts';
import { spansAsJson } from '../../../src/otlp/encode/span-json.ts';
import { encodeSpans } from '../../../src/otlp/encode/span-message.ts';
import { serviceResource } from '../../../src/otlp/resource.ts';
import type { Span } from '../../../src/tracer/span.ts';
import { fc } from '../../seed.ts';
import { spans, usualSpan } from './arbitrary-items.ts';
import { decodeSpans } from './official-otlp.ts';

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

test('any span is encoded as by the SDK, field by field', () => {
  fc.assert(
    fc.property(
      fc.array(spans, { minLength: 1, maxLength: 4 }),
      fc.array(spans, { minLength: 1, maxLength: 4 }),
      (ofShop, ofBilling) => {
        const data = [
          { resource: SHOP, items: ofShop },
          { resource: BILLING, items: ofBilling },
        ];
        assert.deepEqual(decodeSpans(encodeSpans(data)), decodeSpans(encodedBySdk(data)));
      },
    ),
    { numRuns: 150 },
  );
});

test('a usual span has these fields on the wire', () => {
  const span: Span = {
    ...usualSpan(7),
    shared: { 'server.port': 5672 },
    attributes: { 'celery.task.wait_time': 0.5, ok: true, negative: -3 },
    isParentRemote: true,
    error: { description: 'no address for order 17' },
    links: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: { 'celery.link': 'retry_of' } }],
    events: [{ name: 'exception', timeMs: 1795311504038.5, attributes: { 'exception.type': 'ValueError' } }],
  };
  const bytes = (digits: string) => [...Buffer.from(digits, 'hex')];
  const { resourceSpans } = decodeSpans(encodeSpans([{ resource: SHOP, items: [span] }]));
  assert.ok(Array.isArray(resourceSpans));
  const [{ scopeSpans }] = resourceSpans;
  assert.equal(scopeSpans[0].scope.name, 'celery-otel');
  const [{ attributes, events, links, ...fields }] = scopeSpans[0].spans;
  assert.deepEqual(fields, {
    traceId: bytes('000000076c284fe5aa467adb16d15d7d'),
    spanId: bytes('a8e6952400000007'),
    parentSpanId: bytes('ee4651f200000007'),
    traceState: 'ot=th:0',
    flags: 0x303,
    name: 'process shop.tasks.task_7',
    kind: 'SPAN_KIND_CONSUMER',
    startTimeUnixNano: '1795311503956424072',
    endTimeUnixNano: '1795311504045900879',
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
    status: { message: 'no address for order 17', code: 'STATUS_CODE_ERROR' },
  });
  const of = (list: { key: string; value: Record<string, unknown> }[]) =>
    list.map(({ key, value: { value, ...is } }) => [key, value, is[String(value)]]);
  assert.deepEqual(of(attributes), [
    ['server.port', 'intValue', '5672'],
    ['celery.task.wait_time', 'doubleValue', 0.5],
    ['ok', 'boolValue', true],
    ['negative', 'intValue', '-3'],
  ]);
  assert.deepEqual([events[0].name, events[0].timeUnixNano], ['exception', '1795311504038500000']);
  assert.deepEqual([links[0].spanId, links[0].flags], [bytes('b'.repeat(16)), 0x100]);
});

test('times are exact to the nanosecond, and what backends cannot hold is the nearest that they can', () => {
  const nanosOf = (startMs: number): unknown => {
    const { resourceSpans } = decodeSpans(
      encodeSpans([{ resource: SHOP, items: [{ ...usualSpan(1), startMs }] }]),
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
  const { resourceSpans } = decodeSpans(encodeSpans([{ resource: SHOP, items: [span] }]));
  assert.ok(Array.isArray(resourceSpans));
  const { scope, schemaUrl, spans: encoded } = resourceSpans[0].scopeSpans[0];
  assert.deepEqual(
    encoded[0].attributes.map(({ value }: { value: { value: string } }) => value.value),
    ['doubleValue', 'doubleValue', 'doubleValue', 'intValue', 'stringValue'],
  );
  assert.equal(scope.name, 'celery-otel');
  assert.match(schemaUrl, /^https:\/\/opentelemetry\.io\/schemas\/1\.\d+\.0$/u);
  assert.equal(resourceSpans[0].schemaUrl, schemaUrl);
  const json = new TextDecoder().decode(spansAsJson([readableSpan(span, SHOP)]));
  const [written] = JSON.parse(json).resourceSpans[0].scopeSpans[0].spans;
  assert.deepEqual(
    written.attributes.map(({ value }: { value: unknown }) => value),
    [{ doubleValue: 0 }, { doubleValue: 3 }, { doubleValue: 1.5 }, { intValue: 2 }, { stringValue: quoted }],
  );
});

test('the encoding of shared attributes belongs to their object', () => {
  const one = { key: 'one' };
  const other = { key: 'other' };
  const items = [one, other, one].map((shared, index) => ({ ...usualSpan(index), shared, attributes: {} }));
  const { resourceSpans } = decodeSpans(encodeSpans([{ resource: SHOP, items }]));
  assert.ok(Array.isArray(resourceSpans));
  assert.deepEqual(
    resourceSpans[0].scopeSpans[0].spans.map(
      (span: { attributes: { value: { stringValue: string } }[] }) => span.attributes[0]?.value.stringValue,
    ),
    ['one', 'other', 'one'],
  );
});
