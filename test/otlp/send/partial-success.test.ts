import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPartialSuccess } from '../../../src/otlp/send/partial-success.ts';
import type { Encoding } from '../../../src/otlp/send/signal.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { fc } from '../../seed.ts';
import { responseBytes } from './backend-messages.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const read = (response: Uint8Array, encoding: Encoding | undefined) =>
  readPartialSuccess(response, encoding, SIGNALS.metrics);

test('both encodings give the same result', () => {
  for (const partial of [
    { rejectedDataPoints: 3, errorMessage: 'zu alt' },
    { rejectedDataPoints: 3 },
    { errorMessage: 'a warning' },
  ]) {
    const expected = {
      rejectedItems: partial.rejectedDataPoints ?? 0,
      message: partial.errorMessage ?? '',
    };
    assert.deepEqual(read(responseBytes(partial), 'protobuf'), expected);
    assert.deepEqual(read(json({ partialSuccess: partial }), 'json'), expected);
  }
});

test('an empty response is a full success', () => {
  for (const response of [undefined, {}, { rejectedDataPoints: 0, errorMessage: '' }]) {
    assert.equal(read(responseBytes(response), 'protobuf'), undefined);
    assert.equal(read(json({ partialSuccess: response }), 'json'), undefined);
  }
  assert.equal(read(new Uint8Array(), 'json'), undefined);
  assert.equal(read(json({ partialSuccess: { rejectedDataPoints: 3 } }), undefined), undefined);
});

test('any response gives a count and a text, or nothing', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map((text) => Buffer.from(text)),
    fc.jsonValue().map((partialSuccess) => json({ partialSuccess })),
    fc
      .record({ rejectedDataPoints: fc.jsonValue(), errorMessage: fc.jsonValue() })
      .map((partialSuccess) => json({ partialSuccess })),
  );
  fc.assert(
    fc.property(bytes, fc.constantFrom('json', 'protobuf'), (response, encoding) => {
      const partial = read(response, encoding);
      if (partial === undefined) return;
      assert.ok(Number.isSafeInteger(partial.rejectedItems) && partial.rejectedItems >= 0);
      assert.equal(typeof partial.message, 'string');
    }),
  );
});

test('each signal has its own name for rejected items', () => {
  const response = json({ partialSuccess: { rejectedDataPoints: 3, rejectedSpans: 2 } });
  const ofSpans = { ...SIGNALS.metrics, rejectedField: 'rejectedSpans' };
  assert.equal(readPartialSuccess(response, 'json', ofSpans)?.rejectedItems, 2);
});
