/** How much decompressing is allowed over time, and that it is enough for what Celery sends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { BODY_LIMITS, EXPANSION_COSTS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import { ExpansionReserve } from '../../src/celery/expansion.ts';
import { bodies } from '../bench/lifecycles.ts';
import { BLOCK_SHAPES } from './block-shapes.ts';
import { COMPRESSIONS, smallBomb } from './compressions.ts';
import { recordedMessages } from './recorded-messages.ts';
import { message, WIRE_EVENTS } from './wire.ts';

const { compressed, expanded, expansion, expansion_cost: cost } = BODY_LIMITS;

test('the reserve is refilled over time, up to its initial size', () => {
  const expansions = new ExpansionReserve(5_000);
  assert.ok(expansions.isLeft(5_000));
  expansions.take(cost.max - 1);
  assert.ok(expansions.isLeft(5_000));
  expansions.take(1 + cost.max / 10);
  assert.ok(!expansions.isLeft(5_099), 'its debt comes first');
  assert.ok(expansions.isLeft(5_101));
  assert.ok(expansions.isLeft(3_600_000));
  expansions.take(cost.max);
  assert.ok(!expansions.isLeft(3_600_000));
});

test('the costliest bodies are bounded together, and honest ones are decoded as soon as they end', () => {
  const [compression, make] = BLOCK_SHAPES['brotli blocks of wide context maps'] ?? assert.fail();
  const costly = message(make(compressed.max), { headers: { compression } });
  const expansions = new ExpansionReserve(0);
  let decompressed = 0;
  const seconds = 1;
  for (let atMs = 0; atMs < seconds * 1000; atMs += 10) {
    const [rejection] = decode(costly, atMs, expansions).rejections;
    if (rejection?.reason === 'invalid-json') decompressed += 1;
    else assert.equal(rejection?.reason, 'decompression-too-costly');
  }
  const bodyMs = (compressed.max * EXPANSION_COSTS.compressedByteNs.brotli) / 1e6;
  const most = Math.ceil((cost.max * (1 + seconds)) / bodyMs);
  assert.ok(decompressed > most / 2 && decompressed <= most, `${decompressed} of at most ${most}`);
  const headers = { compression: 'application/x-brotli' };
  const honest = message(brotliCompressSync(bodies(1, 24)[0] ?? assert.fail()), { headers });
  assert.deepEqual(decode(honest, (seconds + 0.1) * 1000, expansions).rejections, []);
});

for (const [compression, compress] of COMPRESSIONS) {
  const headers = { compression };
  const lists = bodies(600, 24).map((list) => message(compress(list), { headers }));

  test(`what Celery sent, compressed as ${compression}, is decoded at once`, () => {
    const expansions = new ExpansionReserve(0);
    const recorded = recordedMessages();
    const read = (each: (typeof recorded)[number]) => {
      const { events, rejections } = decode(each, 0, expansions);
      return [events.length, rejections.map(({ reason }) => reason)];
    };
    for (const each of recorded) {
      const plain = read(each);
      assert.deepEqual(read({ ...each, headers, body: compress(each.body) }), plain);
    }
  });

  test(`10,000 events a second in lists of 24, compressed as ${compression}, need no more than what is refilled`, () => {
    const expansions = new ExpansionReserve(0);
    // They arrive in bursts, one for each fifth of a second. What a burst does not need is taken first.
    expansions.take(0.8 * cost.max);
    const listsPerS = 10_000 / 24;
    for (let index = 0; index < listsPerS * 5; index += 1) {
      const atMs = Math.floor(index / listsPerS / 0.2) * 200;
      const list = lists[index % lists.length] ?? assert.fail();
      const { reason } = decode(list, atMs, expansions).rejections[0] ?? {};
      assert.equal(reason, undefined, `list ${index}`);
    }
  });

  test(`a body of an ordinary size that ${compression} shrank more than ${expansion.max} times is refused`, () => {
    const body = (filler: string) =>
      Buffer.from(`${JSON.stringify(WIRE_EVENTS['worker-heartbeat'])}${filler}`);
    const [dense, ordinary] = [body(' '.repeat(100_000)), body(' '.repeat(1_000))];
    assert.ok(dense.length < expanded.max && dense.length > expansion.max * compress(dense).length);
    for (const [each, reasons] of [
      [dense, ['expands-too-far']],
      [ordinary, []],
    ] as const) {
      const { rejections } = decode(message(compress(each), { headers }), 0, new ExpansionReserve(0));
      assert.deepEqual(
        rejections.map(({ reason }) => reason),
        reasons,
      );
    }
  });

  test(`100 small ${compression} bombs a second keep no honest event out`, () => {
    const bomb = smallBomb(compression, compress);
    assert.equal(decode(bomb).rejections[0]?.reason, 'expands-too-far');
    const expansions = new ExpansionReserve(0);
    expansions.take(0.9 * cost.max);
    for (let atMs = 0; atMs < 2_000; atMs += 10) {
      decode(bomb, atMs, expansions);
      if (atMs % 100 > 0) continue;
      const list = lists[(atMs / 100) % lists.length] ?? assert.fail();
      assert.deepEqual(decode(list, atMs, expansions).rejections, [], `at ${atMs} ms`);
    }
  });
}
