/** Replies are followed by their headers, in whatever pieces they come. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REPLY_BYTES_MAX, ReplyBounds } from '../../../src/broker/redis/reply-bounds.ts';
import { fc } from '../../seed.ts';
import { bulk, list } from './scripted-redis.ts';

const HONEST = fc.letrec<{ reply: string; leaf: string }>((tie) => ({
  leaf: fc.oneof(
    fc.string().map(bulk),
    fc.integer().map((number) => `:${number}\r\n`),
    fc.constantFrom(
      '+OK\r\n',
      '-ERR no 42\r\n',
      '$-1\r\n',
      '*-1\r\n',
      '*0\r\n',
      '$0\r\n\r\n',
      ':99999999999999999999\r\n',
    ),
  ),
  reply: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('reply'), { maxLength: 5 }).map((items) => list(...items)),
    fc
      .array(fc.tuple(tie('leaf'), tie('leaf')), { maxLength: 3 })
      .map((pairs) => `%${pairs.length}\r\n${pairs.flat().join('')}`),
  ),
})).reply;

/** What is beyond a bound in these pieces; undefined if nothing is. */
function excessIn(bounds: ReplyBounds, bytes: Buffer, pieceBytes: number): string | undefined {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const excess = bounds.excessOf(bytes.subarray(at, at + pieceBytes));
    if (excess !== undefined) return excess;
  }
  return undefined;
}

test('whatever a Redis replies is within the bounds, in any pieces, and does not add up', () => {
  fc.assert(
    fc.property(
      fc.array(HONEST, { minLength: 1 }),
      fc.integer({ min: 1, max: 50 }),
      (replies, pieceBytes) => {
        const bounds = new ReplyBounds();
        assert.equal(excessIn(bounds, Buffer.from(replies.join('')), pieceBytes), undefined);
        // They were all complete: the next one has all the room.
        const whole = `$${REPLY_BYTES_MAX - 20}\r\n`;
        assert.equal(bounds.excessOf(Buffer.from(whole)), undefined);
      },
    ),
  );
});

const BEYOND: Readonly<Record<string, string>> = {
  'a list of 33 million': '*33000000\r\n',
  'nested lists of 300,000': '*300000\r\n'.repeat(4),
  'deep lists': '*1\r\n'.repeat(17),
  'a map of 600,000': '%600000\r\n',
  'a text of 512 MiB': `$${512 * 1024 * 1024}\r\n`,
  'texts that are too long together': `*2\r\n$5\r\nhello\r\n$${REPLY_BYTES_MAX}\r\n`,
  'a length of twenty digits': '$99999999999999999999\r\n',
  'empty lists without end': `*900000\r\n${'*0\r\n'.repeat(100_001)}`,
  'a line without end': `+${'x'.repeat(70_000)}`,
};

for (const [what, text] of Object.entries(BEYOND)) {
  test(`${what} is beyond them, in any pieces`, () => {
    for (const pieceBytes of [1, 7, 100_000])
      assert.match(excessIn(new ReplyBounds(), Buffer.from(text), pieceBytes) ?? '', /^a (?:reply|line) /u);
  });
}
