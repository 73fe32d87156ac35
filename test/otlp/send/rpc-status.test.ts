/** What is read of the status that a gRPC backend answers with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRpcStatus } from '../../../src/otlp/send/rpc-status.ts';
import { fc } from '../../seed.ts';
import { statusBytes } from './backend-messages.ts';

test('the message and the retry delay of a status are decoded', () => {
  assert.deepEqual(readRpcStatus(statusBytes({ message: 'zu groß' })), {
    message: 'zu groß',
    retryDelayMs: undefined,
  });
  for (const retryDelayMs of [0, 1, 999, 1000, 90_250]) {
    const status = readRpcStatus(statusBytes({ message: 'later', retryDelayMs }));
    assert.deepEqual(status, { message: 'later', retryDelayMs });
  }
  assert.equal(readRpcStatus(statusBytes({ retryDelayMs: null }))?.retryDelayMs, 0);
  assert.equal(readRpcStatus(statusBytes({ retryDelayMs: -5000 }))?.retryDelayMs, 0);
  assert.deepEqual(readRpcStatus(new Uint8Array()), { message: '', retryDelayMs: undefined });
});

test('a truncated status is decoded or rejected, without a throw', () => {
  const whole = statusBytes({ message: 'later', retryDelayMs: 1500 });
  for (let length = 0; length < whole.length; length += 1) {
    const cut = readRpcStatus(whole.subarray(0, length));
    assert.ok(cut === undefined || cut.retryDelayMs === undefined, `${length}`);
  }
});

test('decoding ends for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const status = readRpcStatus(bytes);
      assert.ok(status === undefined || typeof status.message === 'string');
    }),
  );
  assert.equal(readRpcStatus(new Uint8Array(1_000_000).fill(0x80)), undefined);
});
