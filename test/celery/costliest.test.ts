/** What the costliest messages of each shape cost, in a process of its own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { zstdCompressSync } from 'node:zlib';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { JSON_SHAPES } from './json-shapes.ts';

const COST_MS_MAX = 50;
const GROWN_MB_MAX = 64;

const PROGRAM = fileURLToPath(new URL('./costliest.ts', import.meta.url));
const { body, tokens, unscanned } = BODY_LIMITS;

for (const [shape, make] of Object.entries(JSON_SHAPES)) {
  test(`${shape}: the costliest message takes at most ${COST_MS_MAX} ms and ${GROWN_MB_MAX} MB`, () => {
    const asLargeAs = (bytes: number, tokensMax: number) => Buffer.from(make({ bytes, tokens: tokensMax }));
    const messages: readonly (readonly [compression: string, body: Buffer])[] = [
      ['', asLargeAs(unscanned.max, unscanned.max)],
      ['', asLargeAs(body.max, tokens.max - 10)],
      // As large as bodies once could be.
      ['application/zstd', zstdCompressSync(asLargeAs(16 * 1024 * 1024, Number.POSITIVE_INFINITY))],
    ];
    const input = JSON.stringify(messages.map(([compression, of]) => [compression, of.toString('base64')]));
    const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM], { input, encoding: 'utf8' });
    assert.notEqual(stdout, '', stderr);
    const { mediansMs, grownMb } = JSON.parse(stdout);
    assert.equal(mediansMs.length, messages.length);
    for (const medianMs of mediansMs) assert.ok(medianMs <= COST_MS_MAX, stdout);
    assert.ok(grownMb <= GROWN_MB_MAX, stdout);
  });
}
