/** How long it takes to read the status that a backend answers with. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRpcStatus } from '../../../src/otlp/send/rpc-status.ts';
import { bound } from '../../bound.ts';
import { processorMs } from '../../processor-time.ts';

test('a megabyte of empty details is decoded quickly', (t) => {
  const fields = new Uint8Array(1_000_000);
  for (let at = 0; at < fields.length; at += 2) fields[at] = 0x1a;
  const tookMs = processorMs(() => {
    assert.deepEqual(readRpcStatus(fields), { message: '', retryDelayMs: undefined });
  });
  bound(t, 'a status of a megabyte of empty details', tookMs, 2000, 'ms');
});
