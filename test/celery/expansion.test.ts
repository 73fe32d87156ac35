import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, constants, deflateSync, zstdCompressSync } from 'node:zlib';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import { ExpansionReserve } from '../../src/celery/expansion.ts';
import { bodies } from '../bench/lifecycles.ts';
import { JSON_SHAPES } from './json-shapes.ts';
import { recordedMessages } from './recorded-messages.ts';
import { message } from './wire.ts';

const { expansion, expansion_reserve: reserve, expansion_refill: refill } = BODY_LIMITS;

const COMPRESSIONS = new Map<string, (body: Buffer) => Buffer>([
  ['application/x-gzip', (plain) => deflateSync(plain)],
  [
    'application/x-brotli',
    (plain) => brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_LGWIN]: 24 } }),
  ],
  ['application/zstd', (plain) => zstdCompressSync(plain)],
]);

test('a body may expand to a multiple of its size, and beyond that within the reserve', () => {
  const expansions = new ExpansionReserve(5_000);
  assert.equal(expansions.bytesFor(1_000, 0, 5_000), 1_000 * expansion.max + reserve.max);
  expansions.take(1_000, 1_000 * expansion.max);
  assert.equal(expansions.bytesFor(0, 0, 5_000), reserve.max, 'within the multiple nothing is taken');
  expansions.take(1_000, 1_000 * expansion.max + 300_000);
  assert.equal(expansions.bytesFor(0, 0, 5_000), reserve.max - 300_000);
  expansions.take(0, reserve.max - 300_000);
  assert.equal(
    expansions.bytesFor(1_000, 0, 5_000),
    1_000 * expansion.max,
    'then the multiple is all there is',
  );
});

test('the reserve is refilled over time, up to its initial size', () => {
  const expansions = new ExpansionReserve(0);
  expansions.take(0, reserve.max);
  assert.equal(expansions.bytesFor(0, 0, 10), Math.floor(refill.max / 100));
  assert.equal(expansions.bytesFor(0, 0, 3_600_000), reserve.max);
});

test('after a body that overdrew the reserve, only cheap ones are tried', () => {
  const expansions = new ExpansionReserve(0);
  expansions.take(20, 16 * 1024 * 1024);
  assert.equal(expansions.bytesFor(20, 16 * 1024 * 1024, 0), 0);
  assert.equal(expansions.bytesFor(20, 0, 0), 20 * expansion.max);
  assert.ok(expansions.bytesFor(20, 16 * 1024 * 1024, 5_000) > 0);
});

for (const [compression, compress] of COMPRESSIONS) {
  const headers = { compression };

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

  test(`10,000 events a second for a minute in lists of 24, compressed as ${compression}, are all decoded`, () => {
    const expansions = new ExpansionReserve(0);
    const lists = bodies(600, 24).map((list) => message(compress(list), { headers }));
    const listsPerS = 10_000 / 24;
    for (let index = 0; index < listsPerS * 60; index += 1) {
      // They arrive in bursts, one for each fifth of a second.
      const atMs = Math.floor(index / listsPerS / 0.2) * 200;
      const list = lists[index % lists.length] ?? assert.fail();
      const { reason } = decode(list, atMs, expansions).rejections[0] ?? {};
      assert.equal(reason, undefined, `list ${index}`);
    }
  });

  test(`${compression} bombs are bounded together`, () => {
    const bomb = message(
      compress(Buffer.from(JSON_SHAPES['lists within lists']?.({ bytes: 16_000_000, tokens: 0 }) ?? '')),
      {
        headers,
      },
    );
    const expansions = new ExpansionReserve(0);
    const before = process.threadCpuUsage();
    for (let index = 0; index < 20; index += 1) {
      assert.deepEqual(
        decode(bomb, 0, expansions).rejections.map(({ reason }) => reason),
        ['expands-too-far'],
      );
    }
    const { user, system } = process.threadCpuUsage(before);
    assert.ok((user + system) / 1000 < 50, `${(user + system) / 1000} ms`);
  });
}
