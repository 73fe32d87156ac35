/** The cost of the costliest messages of each shape, in a separate process. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { zstdCompressSync } from 'node:zlib';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import { bound } from '../bound.ts';
import { BLOCK_SHAPES } from './block-shapes.ts';
import { JSON_SHAPES } from './json-shapes.ts';
import { message } from './wire.ts';

const COST_MS_MAX = 50;
const GROWN_MB_MAX = 64;

const PROGRAM = fileURLToPath(new URL('./costliest.ts', import.meta.url));
const { body, compressed, tokens, unscanned } = BODY_LIMITS;

/** Decodes them in a process of its own. */
function costOf(messages: readonly (readonly [compression: string, body: Buffer])[]) {
  const input = JSON.stringify(messages.map(([compression, of]) => [compression, of.toString('base64')]));
  const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, `${COST_MS_MAX}`], {
    input,
    encoding: 'utf8',
  });
  assert.notEqual(stdout, '', stderr);
  const { mediansMs, grownMb } = JSON.parse(stdout);
  assert.equal(mediansMs.length, messages.length);
  return { mediansMs, grownMb };
}

for (const [shape, make] of Object.entries(JSON_SHAPES)) {
  test(`${shape}: the costliest message takes at most ${COST_MS_MAX} ms and ${GROWN_MB_MAX} MB`, (t) => {
    const asLargeAs = (bytes: number, tokensMax: number) => Buffer.from(make({ bytes, tokens: tokensMax }));
    const { mediansMs, grownMb } = costOf([
      ['', asLargeAs(unscanned.max, unscanned.max)],
      ['', asLargeAs(body.max, tokens.max - 10)],
      // As large as bodies once could be.
      ['application/zstd', zstdCompressSync(asLargeAs(16 * 1024 * 1024, Number.POSITIVE_INFINITY))],
    ]);
    bound(t, `${shape}: the costliest message`, Math.max(...mediansMs), COST_MS_MAX, 'ms');
    bound(t, `${shape}: memory for the costliest message`, grownMb, GROWN_MB_MAX, 'MB');
  });
}

for (const [shape, [compression, make]] of Object.entries(BLOCK_SHAPES)) {
  test(`${shape}: the longest body takes at most ${COST_MS_MAX} ms and can be decompressed`, (t) => {
    const { rejections } = decode(message(make(1000), { headers: { compression } }));
    assert.deepEqual(
      rejections.map(({ reason }) => reason),
      ['invalid-json'],
    );
    const { mediansMs } = costOf([[compression, make(compressed.max)]]);
    bound(t, `${shape}: the longest body`, Math.max(...mediansMs), COST_MS_MAX, 'ms');
  });
}
