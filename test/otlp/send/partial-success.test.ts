import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPartialSuccess } from '../../../src/otlp/send/partial-success.ts';
import type { Encoding } from '../../../src/otlp/send/signal.ts';
import { SIGNALS } from '../../../src/otlp/signals.ts';
import { fc } from '../../seed.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const read = (response: Uint8Array, encoding: Encoding | undefined) =>
  readPartialSuccess(response, encoding, SIGNALS.metrics);

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
