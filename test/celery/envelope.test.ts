/** What arrives as a message, in every serializer, encoding and compression, and within which bounds it is read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, zstdCompressSync } from 'node:zlib';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import { allowedBytes, BOMBS } from './bombs.ts';
import { message, outcome, WIRE_EVENTS } from './wire.ts';

const STARTED = WIRE_EVENTS['task-started'];
const BODY = Buffer.from(JSON.stringify(STARTED));

/**
 * A task-started compressed by Python's own zlib, bz2 and pickle (`zlib.compress(json)` and so on, Python 3.11):
 * what kombu sends.
 */
const PYTHON = {
  zlib: 'eJwdjtEOwiAMRX9l6bMY6qgwn/wVBBqXiVtGpzHGfxf21nPvzUm/cJ+LPH1OcOngjddXhkMHm4SZuSSpqa68jLFeOJyNqxQec5gaY5tuewfGoGGmm9JMrEykoFxCr5C11564Z8SmljGnIj4vTWAHOvWIhEeryQ6uCeWz7M+IL5Oqy1VShN8fxWMvUA==',
  bz2: 'QlpoOTFBWSZTWWaUquQAAFOdgFAHf/BAAD9v36ogAJIVPJMhp6JpoGhoBpoGimaJplGTCN6p+qaMgZa4GYBkIs/LqNm9PT+ZFVlbymZqrNRLFSGCTPNI9s0cP2Mq1lXd3hYGwjidz2hSb5XodCKoTGqlIbQdqLy1g9I+KXmN9imHZFZQIPcnAiKIukVCwwe0WGS2QnA4GkFnw/i7kinChIM0pVcg',
  pickle:
    'gAJ9cQAoWAgAAABob3N0bmFtZXEBWAUAAAB3MUB2bXECWAkAAAB1dGNvZmZzZXRxA0sAWAMAAABwaWRxBE3ATFgFAAAAY2xvY2txBUsLWAQAAAB1dWlkcQZYJAAAADQ0MTRmZjViLTBmNWYtNGQ1Yy04ZTFhLTFmMGEwYTVmM2YxMXEHWAkAAAB0aW1lc3RhbXBxCEdB2sBDa+0rzFgEAAAAdHlwZXEJWAwAAAB0YXNrLXN0YXJ0ZWRxCnUu',
} as const;

function fromPython(name: keyof typeof PYTHON): Buffer {
  return Buffer.from(PYTHON[name], 'base64');
}

const YAML = 'hostname: w1@vm\ntimestamp: 1795231151.7\ntype: task-started\nuuid: 4414ff5b\n';
/** {"type": "task-started"} */
const MSGPACK = Buffer.from('81a474797065ac7461736b2d73746172746564', 'hex');

type Overrides = Parameters<typeof message>[1];

/** Without a reason for its rejection, the event is decoded. */
type Case = readonly [title: string, body: unknown, overrides?: Overrides | undefined, reason?: string];

const CASES: readonly Case[] = [
  ['plain JSON', BODY],
  ['a content type in capitals', BODY, { contentType: 'Application/JSON' }],
  [
    'an event in pickle',
    fromPython('pickle'),
    { contentType: 'application/x-python-serialize', contentEncoding: 'binary' },
    'unsafe-serializer',
  ],
  ['pickle declared as JSON', fromPython('pickle'), undefined, 'invalid-text'],
  ['YAML', YAML, { contentType: 'application/x-yaml' }, 'unsupported-serializer'],
  [
    'MessagePack',
    MSGPACK,
    { contentType: 'application/x-msgpack', contentEncoding: 'binary' },
    'unsupported-serializer',
  ],
  ...['application/x-orders-json', 'application/vnd.shop+json', 'text/json', 'Application/X-JSON'].map(
    (contentType) => [contentType, BODY, { contentType }] as const,
  ),
  ...['json', 'application/jsonp', 'application/x json', 'image/x-json', 'application/x-msgpack'].map(
    (contentType) => [contentType, BODY, { contentType }, 'unsupported-serializer'] as const,
  ),
  ['no content type', BODY, { contentType: '' }, 'unsupported-serializer'],
  ['no encoding', BODY, { contentEncoding: '' }],
  ['UTF-8 under another name', BODY, { contentEncoding: 'UTF8' }],
  ['ASCII', BODY, { contentEncoding: 'us-ascii' }],
  ['binary', BODY, { contentEncoding: 'binary' }],
  ['Latin-1', Buffer.from('{"é":1}', 'latin1'), { contentEncoding: 'latin-1' }, 'missing-type'],
  ['Latin-1 declared as UTF-8', Buffer.from('{"é":1}', 'latin1'), undefined, 'invalid-text'],
  ['UTF-16', Buffer.from(BODY.toString(), 'utf16le'), { contentEncoding: 'utf-16' }, 'unsupported-encoding'],
  ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), undefined, 'invalid-text'],
  ['nothing', '', undefined, 'invalid-json'],
  ['two events without a list', `${BODY}${BODY}`, undefined, 'invalid-json'],
  ['zlib by Python', fromPython('zlib'), compressed('application/x-gzip')],
  ['brotli', brotliCompressSync(BODY), compressed('application/x-brotli')],
  ['zstd', zstdCompressSync(BODY), compressed('application/zstd')],
  ['a compression header of null', BODY, compressed(null)],
  ['bzip2 by Python', fromPython('bz2'), compressed('application/x-bz2'), 'unsupported-compression'],
  ...[17, true, {}, [], { toString: 1, valueOf: 1 }, 5n, Symbol('x'), Buffer.from('x'), 'constructor'].map(
    (header, index) =>
      [
        `compression header ${index} that no kombu writes`,
        BODY,
        compressed(header),
        'unsupported-compression',
      ] as const,
  ),
  ...['application/x-gzip', 'application/x-brotli', 'application/zstd'].map(
    (compression) =>
      [`${compression} that is none`, BODY, compressed(compression), 'corrupt-compression'] as const,
  ),
  [
    'zlib that is cut',
    fromPython('zlib').subarray(0, 60),
    compressed('application/x-gzip'),
    'corrupt-compression',
  ],
  [
    'zlib with a wrong checksum',
    Buffer.concat([fromPython('zlib').subarray(0, -1), Buffer.from([0])]),
    compressed('application/x-gzip'),
    'corrupt-compression',
  ],
  [
    'compressed text that is no UTF-8',
    deflateSync(Buffer.from([0xff])),
    compressed('application/x-gzip'),
    'invalid-text',
  ],
];

function compressed(compression: unknown): Overrides {
  return { headers: { hostname: 'w1@vm', compression } };
}

for (const [title, body, overrides, reason] of CASES) {
  test(`${title} is ${reason === undefined ? 'read' : `rejected as ${reason}`}`, () => {
    const expected =
      reason === undefined ? { types: ['task-started'], reasons: [] } : { types: [], reasons: [reason] };
    assert.deepEqual(outcome(message(body, overrides)), expected);
  });
}

test('Latin-1 is decoded', () => {
  const body = Buffer.from(JSON.stringify({ ...WIRE_EVENTS['task-sent'], name: 'bücher.leihen' }), 'latin1');
  const [event] = decode(message(body, { contentEncoding: 'ISO-8859-1' })).events;
  assert.ok(event?.type === 'task-sent');
  assert.equal(event.name, 'bücher.leihen');
});

/** An event of that many bytes, most of them in short strings. */
function sized(bytes: number): Buffer {
  const text = JSON.stringify({ ...WIRE_EVENTS['task-started'], args: [''] });
  const [string, rest] = ['x'.repeat(BODY_LIMITS.text.max), bytes - text.length];
  const strings = Math.ceil(rest / (string.length + 3));
  const last = 'x'.repeat(rest - (strings - 1) * (string.length + 3));
  const args = JSON.stringify([...Array.from({ length: strings - 1 }, () => string), last]);
  return Buffer.from(text.replace('[""]', args));
}

test('a body of exactly the limit is decoded, one byte more is not even looked at', () => {
  const { body } = BODY_LIMITS;
  const event = JSON.stringify({ ...WIRE_EVENTS['task-started'], args: '' });
  const largest = event.replace('"args":""', `"args":"${'x'.repeat(body.max - event.length)}"`);
  assert.equal(decode(message(largest)).events.length, 1);
  const { rejections } = decode(message(`${largest} `));
  assert.deepEqual(rejections, [{ reason: 'body-too-large', detail: `${body.max + 1} bytes` }]);
});

test('a body of exactly the limit without what is left out of strings is decoded, one byte more is not', () => {
  const { max } = BODY_LIMITS.kept;
  assert.equal(sized(max).length, max);
  assert.equal(decode(message(sized(max))).events.length, 1);
  assert.deepEqual(decode(message(sized(max + 1))).rejections, [
    { reason: 'body-too-large', detail: `${max + 1} bytes with its strings shortened` },
  ]);
});

test('a large list is decoded as a small one: whatever is between its elements, or instead of them', () => {
  const [event, long] = [JSON.stringify(WIRE_EVENTS['task-started']), sized(20_000).toString()];
  for (const [open, between, close] of [
    [' \n\t\r[ ', ' , ', '\r\n ] '],
    ['[', ',', ']'],
    ['[', ',,', ']'],
    ['[', ',', ',]'],
    ['[,', ',', ']'],
    ['[', ',', ']]'],
    ['[', ',', ''],
    ['[', ',', '}'],
    ['[', ',', 'x'],
    ['', ',', ']'],
    ['[', ',', '] x'],
    ['\x01[', ',', ']'],
    ['[', '],[', ']'],
    ['{"a":', ',"b":', '}'],
    ['[', ', NaN, "[,]\\",", null, [[1,2],{"a":[]}],', ']'],
    ['[[', ',', ']]'],
  ] as const) {
    const text = (first: string) => `${open}${first}${between}${event}${close}`;
    assert.ok(long.length > BODY_LIMITS.unscanned.max && text(event).length < BODY_LIMITS.unscanned.max);
    const [large, small] = [decode(message(text(long))), decode(message(text(event)))];
    assert.deepEqual(large.events, small.events, text('…'));
    const reasons = ({ rejections }: typeof large) => rejections.map(({ reason }) => reason);
    assert.deepEqual(reasons(large), reasons(small), text('…'));
  }
});

test('a large list of too many elements is rejected before they are parsed one by one', () => {
  const { batch, unscanned } = BODY_LIMITS;
  const list = (count: number) => {
    const { rejections } = decode(message(`[${'NaN,'.repeat(count - 1)}NaN]`.padEnd(unscanned.max + 1)));
    return new Set(rejections.map(({ reason }) => reason));
  };
  assert.deepEqual(list(batch.max), new Set(['not-an-event']));
  assert.deepEqual(list(batch.max + 1), new Set(['batch-too-long']));
});

test('NaN is tolerated in a list only as long as a body may be that has it', () => {
  const { rewritten } = BODY_LIMITS;
  const list = (bytes: number) => {
    const events = [sized(bytes / 2 - 50), sized(bytes / 2 - 50)].map(String).join();
    return decode(message(`[NaN,${events}]`)).events.length;
  };
  assert.equal(list(rewritten.max), 2);
  assert.equal(list(rewritten.max + 200), 0);
});

test('a body dropped by the transport is rejected for its size', () => {
  const { rejections } = decode(message('', { body: undefined, contentType: '' }));
  assert.deepEqual(rejections, [{ reason: 'body-too-large', detail: 'not kept' }]);
});

for (const [compression, body] of BOMBS) {
  test(`decompression of a ${compression} bomb stops once it has expanded too far`, () => {
    assert.ok(body.length < BODY_LIMITS.compressed.max, 'a small message');
    const { events, rejections } = decode(message(body, compressed(compression)));
    const detail = `${body.length} bytes to more than ${allowedBytes(body)}`;
    assert.deepEqual(
      { events, rejections },
      { events: [], rejections: [{ reason: 'expands-too-far', detail }] },
    );
  });
}

test('zstd that requests more memory than the largest body is refused', () => {
  // RFC 8878: magic number, a header without a size of the content, the window, and the last block, as it is.
  const withWindow = (log: number) => {
    const block = Buffer.alloc(3);
    block.writeUIntLE((BODY.length << 3) | 1, 0, 3);
    return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3]), block, BODY]);
  };
  const reasonsOf = (body: Buffer) => outcome(message(body, compressed('application/zstd'))).reasons;
  assert.deepEqual(reasonsOf(withWindow(21)), []);
  assert.deepEqual(reasonsOf(withWindow(22)), ['body-too-large']);
});

test('the detail of a rejection names what is not supported', () => {
  const said = (overrides: Overrides) => decode(message(BODY, overrides)).rejections[0]?.detail;
  assert.equal(said({ contentType: 'application/x-yaml' }), 'content type "application/x-yaml"');
  assert.equal(said({ contentEncoding: 'utf-16' }), 'content encoding "utf-16"');
  assert.equal(said(compressed('application/x-bz2')), 'compression "application/x-bz2"');
  assert.equal(said(compressed({})), 'compression of type object');
  assert.equal(said(compressed('application/x-gzip')), '"application/x-gzip"');
});
