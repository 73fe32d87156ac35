import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceResource } from '../../../src/otlp/resource.ts';
import { ITEM_SIGNALS, type ItemSignal } from '../../../src/otlp/signals.ts';
import { fc } from '../../seed.ts';
import { logRecords, spans, usualLogRecord, usualSpan } from './arbitrary-items.ts';

const SHOP = serviceResource('shop', {});

/** What the items of a request take of it. */
function encodedBytes<Item>({ signal }: ItemSignal<Item>, items: readonly Item[]): readonly number[] {
  return [signal.encode.protobuf, signal.encode.json].map((encode) => {
    const bytes = (all: readonly Item[]) => encode([{ resource: SHOP, items: all }]).length;
    return bytes([...items, ...items]) - bytes(items);
  });
}

function neverMore<Item>(kind: ItemSignal<Item>, items: fc.Arbitrary<Item>): void {
  fc.assert(
    fc.property(items, (item) => {
      const most = kind.requestBytesOf(item, kind.bytesOf(item));
      for (const bytes of encodedBytes(kind, [item])) assert.ok(bytes <= most, `${bytes} ${most}`);
    }),
    { numRuns: 300 },
  );
}

test('no span takes more of a request than estimated, in any encoding', () =>
  neverMore(ITEM_SIGNALS.traces, spans));

test('no log record takes more of a request than estimated, in any encoding', () =>
  neverMore(ITEM_SIGNALS.logs, logRecords));

test('not even if it consists of control characters', () => {
  const text = '\u0001'.repeat(5000);
  neverMore(
    ITEM_SIGNALS.traces,
    fc.constant({ ...usualSpan(1), shared: { text }, attributes: { other: text } }),
  );
  neverMore(ITEM_SIGNALS.logs, fc.constant({ ...usualLogRecord(1), body: text, attributes: { text } }));
});

test('a batch of usual items is one request', () => {
  const { traces, logs } = ITEM_SIGNALS;
  assert.ok(512 * traces.requestBytesOf(usualSpan(1), traces.bytesOf(usualSpan(1))) < 3.5 * 1024 * 1024);
  assert.ok(
    200 * logs.requestBytesOf(usualLogRecord(1), logs.bytesOf(usualLogRecord(1))) < 3.5 * 1024 * 1024,
  );
});

test('what a span shares with others is not counted in its memory', () => {
  const { bytesOf } = ITEM_SIGNALS.traces;
  assert.equal(bytesOf({ ...usualSpan(1), shared: {} }), bytesOf(usualSpan(1)));
  assert.ok(bytesOf({ ...usualSpan(1), error: { description: 'x'.repeat(1000) } }) > 1000);
});
