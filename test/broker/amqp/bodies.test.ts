/** Oversized bodies from a broker that sends any frames: they are dropped as they arrive. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { readDeliveries } from '../../../src/broker/amqp/deliveries.ts';
import { decode } from '../../../src/celery/decode.ts';
import { fc } from '../../seed.ts';
import { addressOf, messagesOf, observeSession } from '../observed-session.ts';
import { amqpTransport } from './amqp-transport.ts';
import { bodyFrames, content, contentHeader, field, frame, tagged } from './frames.ts';
import { deliver, startScriptedBroker } from './scripted-broker.ts';

const [CHANNEL, OTHER] = [1, 2];
const BYTES_MAX = 100_000;
const NO_HEADERS = Buffer.alloc(0);

async function subscribed(t: TestContext, bodyBytesMax = BYTES_MAX) {
  const broker = await startScriptedBroker(t);
  const transport = amqpTransport({ heartbeatS: 0 });
  const session = observeSession(t, transport, { url: addressOf(broker.url), bodyBytesMax });
  await session.ready();
  return {
    ...session,
    ...broker,
    /** Sends them in chunks, and resolves with the lengths of the bodies that were delivered. */
    async receive(frames: readonly Buffer[], chunkBytes = 65_536): Promise<readonly (number | undefined)[]> {
      const from = messagesOf(session.log).length;
      const bytes = Buffer.concat(frames);
      for (let at = 0; at < bytes.length; at += chunkBytes) broker.send(bytes.subarray(at, at + chunkBytes));
      const announced = frames.length;
      const all = await session.delivered(from + announced);
      return all.slice(from).map(({ body }) => body?.length);
    },
  };
}

test('a body up to the limit is complete, and a larger one is dropped', async (t) => {
  const { receive, deliver, log } = await subscribed(t);
  const sizes = [0, 1, BYTES_MAX, BYTES_MAX + 1, 131_064, 131_065, 3_000_000, 5];
  const headers = field('k', tagged('V'));
  const frames = sizes.map((bytes) => deliver(content(CHANNEL, headers, Buffer.alloc(bytes, 'b'))));
  const expected = sizes.map((bytes) => (bytes > BYTES_MAX ? undefined : bytes));
  for (const chunkBytes of [65_536, 5_000_000, 997]) {
    assert.deepEqual(await receive(frames, chunkBytes), expected);
  }
  const dropped = messagesOf(log).find(({ body }) => body === undefined);
  assert.deepEqual([dropped?.exchange, dropped?.routingKey], ['celeryev', 'task.sent']);
  assert.deepEqual([dropped?.contentType, dropped?.headers], ['application/json', { k: null }]);
});

test('bodies in any number of frames of any size give one message each', async (t) => {
  const { receive, deliver } = await subscribed(t, 1000);
  const body = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 });
  const run = fc.asyncProperty(
    fc.array(body, { minLength: 1, maxLength: 10 }),
    fc.integer({ min: 1, max: 4000 }),
    async (bodies, chunkBytes) => {
      const sizes = bodies.map((parts) => parts.reduce((sum, part) => sum + part, 0));
      const frames = bodies.map((parts, index) =>
        deliver(
          Buffer.concat([
            contentHeader(CHANNEL, sizes[index] ?? 0, 0, NO_HEADERS),
            ...parts.map((part) => frame(3, CHANNEL, Buffer.alloc(part))),
          ]),
        ),
      );
      const expected = sizes.map((bytes) => (bytes > 1000 ? undefined : bytes));
      assert.deepEqual(await receive(frames, chunkBytes), expected);
    },
  );
  await fc.assert(run, { numRuns: 50, endOnFailure: true });
});

test('an oversized body with undecodable headers is dropped too', async (t) => {
  const { receive, deliver, log } = await subscribed(t);
  const frames = [3_000_000, 2].map((bytes) =>
    deliver(content(CHANNEL, field('k', tagged('?')), Buffer.alloc(bytes))),
  );
  assert.deepEqual(await receive(frames), [undefined, 2]);
  const [large, small] = messagesOf(log).map((each) => decode(each).rejections.map(({ reason }) => reason));
  assert.deepEqual([large, small], [['body-too-large'], ['undecodable-headers']]);
});

test('frames of other channels in between are left to amqplib', () => {
  const [large = NO_HEADERS, rest = NO_HEADERS] = bodyFrames(CHANNEL, Buffer.alloc(200_000));
  const others = [
    contentHeader(OTHER, 5, 0, NO_HEADERS),
    frame(3, OTHER, Buffer.alloc(3)),
    frame(3, OTHER, Buffer.alloc(2)),
  ] as const;
  const bytes = Buffer.concat([
    deliver(contentHeader(CHANNEL, 200_000, 0, NO_HEADERS)),
    others[0],
    large,
    others[1],
    rest,
    others[2],
    deliver(contentHeader(CHANNEL, 1, 0, NO_HEADERS)),
    frame(3, CHANNEL, Buffer.alloc(1)),
  ]);
  const left: Buffer[] = [];
  const connection = {
    rest: bytes,
    recvFrame(): false | object {
      const { rest: unread } = connection;
      if (unread.length === 0) return false;
      const end = 8 + unread.readUInt32BE(3);
      left.push(unread.subarray(0, end));
      connection.rest = unread.subarray(end);
      return {};
    },
  };
  const bodies: (number | undefined)[] = [];
  readDeliveries(connection, {
    stream: new Readable(),
    bodyBytesMax: BYTES_MAX,
    hasTime: () => true,
    onDelivery: (_route, _properties, body) => bodies.push(body?.length),
  });
  while (connection.recvFrame() !== false);
  assert.deepEqual(bodies, [undefined, 1]);
  assert.deepEqual(
    left.filter((each) => each.readUInt16BE(1) === OTHER),
    others,
  );
});

/** The announced size, if it differs from the real one. */
const LIES: readonly (readonly [what: string, header: Buffer, frames: readonly Buffer[]])[] = [
  [
    'the body is longer than announced',
    contentHeader(CHANNEL, 100_001, 0, NO_HEADERS),
    bodyFrames(CHANNEL, Buffer.alloc(100_002)),
  ],
  [
    'the next message begins before it is complete',
    contentHeader(CHANNEL, 1_000_000, 0, NO_HEADERS),
    bodyFrames(CHANNEL, Buffer.alloc(10)),
  ],
  [
    'it is announced with more bytes than there are numbers for',
    contentHeader(CHANNEL, 2 ** 63 + 2 ** 53, 0, NO_HEADERS),
    bodyFrames(CHANNEL, Buffer.alloc(1_000_000)),
  ],
];

for (const [what, header, frames] of LIES) {
  test(`a protocol error of the broker still ends the session: ${what}`, async (t) => {
    const { send, deliver, ended, log } = await subscribed(t);
    send(deliver(Buffer.concat([header, ...frames])));
    send(deliver(content(CHANNEL, NO_HEADERS, Buffer.from('{}'))));
    assert.equal((await ended).kind, 'malformed');
    assert.deepEqual(messagesOf(log), []);
  });
}
