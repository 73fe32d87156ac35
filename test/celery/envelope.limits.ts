/** How much memory the decompression of small bodies takes that expand far. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../src/celery/decode.ts';
import { bound } from '../bound.ts';
import { allowedBytes, BOMBS } from './bombs.ts';
import { message } from './wire.ts';

for (const [compression, body] of BOMBS) {
  test(`decompression of a ${compression} bomb holds little more than it may expand to`, (t) => {
    const before = process.memoryUsage().arrayBuffers;
    const { rejections } = decode(message(body, { headers: { hostname: 'w1@vm', compression } }));
    const grown = process.memoryUsage().arrayBuffers - before;
    assert.equal(rejections[0]?.reason, 'expands-too-far');
    bound(t, `buffers of a bomb of ${compression}`, grown / 1e6, (3 * allowedBytes(body)) / 1e6, 'MB');
  });
}
