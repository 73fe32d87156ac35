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
 * A task-started compressed by Python's own zlib, bz2, lzma and pickle (`zlib.compress(json)` and so on, Python 3.11):
 * what kombu sends.
 */
const PYTHON = {
  zlib: 'eJwdjtEOwiAMRX9l6bMY6qgwn/wVBBqXiVtGpzHGfxf21nPvzUm/cJ+LPH1OcOngjddXhkMHm4SZuSSpqa68jLFeOJyNqxQec5gaY5tuewfGoGGmm9JMrEykoFxCr5C11564Z8SmljGnIj4vTWAHOvWIhEeryQ6uCeWz7M+IL5Oqy1VShN8fxWMvUA==',
  bz2: 'QlpoOTFBWSZTWWaUquQAAFOdgFAHf/BAAD9v36ogAJIVPJMhp6JpoGhoBpoGimaJplGTCN6p+qaMgZa4GYBkIs/LqNm9PT+ZFVlbymZqrNRLFSGCTPNI9s0cP2Mq1lXd3hYGwjidz2hSb5XodCKoTGqlIbQdqLy1g9I+KXmN9imHZFZQIPcnAiKIukVCwwe0WGS2QnA4GkFnw/i7kinChIM0pVcg',
  lzma: '/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4ACoAI9dAD2IiQc0NFZVgwiXmEjBJSYMJQwr9wwh6wikh9gvcQk53YsdzzN9HzFvT1X1svfRHAus/TUid6P9bS/xVZGZZSfU4DVsEEZTKGC4vrUEIECGKAr3KWorUyutGWYk/p0o/DgA/WwaY0JubGXTLk0nRAs6UasmIsTFwcmFcdiEq1/ZnxGnY6LOnyFJn3p+yvUAAADW1rCRnDYxHQABqwGpAQAA+CBPvLHEZ/sCAAAAAARZWg==',
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

interface Case {
  readonly title: string;
  readonly body: unknown;
  readonly with?: Overrides;
  /** The rejection reason; undefined if the event is decoded. */
  readonly reason?: string;
}

const CASES: readonly Case[] = [
  { title: 'plain JSON', body: BODY },
  { title: 'a content type in capitals', body: BODY, with: { contentType: 'Application/JSON' } },
  {
    title: 'an event in pickle',
    body: fromPython('pickle'),
    with: { contentType: 'application/x-python-serialize', contentEncoding: 'binary' },
    reason: 'unsafe-serializer',
  },
  {
    title: 'JSON declared as pickle',
    body: BODY,
    with: { contentType: 'application/x-python-serialize' },
    reason: 'unsafe-serializer',
  },
  { title: 'pickle declared as JSON', body: fromPython('pickle'), reason: 'invalid-text' },
  {
    title: 'YAML',
    body: YAML,
    with: { contentType: 'application/x-yaml' },
    reason: 'unsupported-serializer',
  },
  {
    title: 'MessagePack',
    body: MSGPACK,
    with: { contentType: 'application/x-msgpack', contentEncoding: 'binary' },
    reason: 'unsupported-serializer',
  },
  {
    title: 'signed data',
    body: BODY,
    with: { contentType: 'application/data' },
    reason: 'unsupported-serializer',
  },
  ...['application/x-orders-json', 'application/vnd.shop+json', 'text/json', 'Application/X-JSON'].map(
    (contentType) => ({ title: contentType, body: BODY, with: { contentType } }),
  ),
  ...['json', 'application/jsonp', 'application/x json', 'image/x-json', 'application/x-msgpack'].map(
    (contentType) => ({
      ...{ title: contentType, body: BODY, with: { contentType } },
      reason: 'unsupported-serializer' as const,
    }),
  ),
  { title: 'no content type', body: BODY, with: { contentType: '' }, reason: 'unsupported-serializer' },
  {
    title: 'a content type named like a built-in property',
    body: BODY,
    with: { contentType: '__proto__' },
    reason: 'unsupported-serializer',
  },
  { title: 'no encoding', body: BODY, with: { contentEncoding: '' } },
  { title: 'UTF-8 under another name', body: BODY, with: { contentEncoding: 'UTF8' } },
  { title: 'ASCII', body: BODY, with: { contentEncoding: 'us-ascii' } },
  { title: 'binary', body: BODY, with: { contentEncoding: 'binary' } },
  {
    title: 'Latin-1',
    body: Buffer.from('{"é":1}', 'latin1'),
    with: { contentEncoding: 'latin-1' },
    reason: 'missing-type',
  },
  {
    title: 'Latin-1 declared as UTF-8',
    body: Buffer.from('{"é":1}', 'latin1'),
    reason: 'invalid-text',
  },
  {
    title: 'UTF-16',
    body: Buffer.from(BODY.toString(), 'utf16le'),
    with: { contentEncoding: 'utf-16' },
    reason: 'unsupported-encoding',
  },
  { title: 'a cut UTF-8 character', body: Buffer.from([0x22, 0xc3, 0x22]), reason: 'invalid-text' },
  {
    title: 'a surrogate in UTF-8',
    body: Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    reason: 'invalid-text',
  },
  { title: 'nothing', body: '', reason: 'invalid-json' },
  { title: 'half an event', body: BODY.subarray(0, 40), reason: 'invalid-json' },
  { title: 'two events without a list', body: `${BODY}${BODY}`, reason: 'invalid-json' },
  { title: 'zlib by Python', body: fromPython('zlib'), with: compressed('application/x-gzip') },
  { title: 'brotli', body: brotliCompressSync(BODY), with: compressed('application/x-brotli') },
  { title: 'zstd', body: zstdCompressSync(BODY), with: compressed('application/zstd') },
  { title: 'an empty compression header', body: BODY, with: compressed('') },
  { title: 'a compression header of null', body: BODY, with: compressed(null) },
  {
    title: 'bzip2 by Python',
    body: fromPython('bz2'),
    with: compressed('application/x-bz2'),
    reason: 'unsupported-compression',
  },
  {
    title: 'xz by Python',
    body: fromPython('lzma'),
    with: compressed('application/x-lzma'),
    reason: 'unsupported-compression',
  },
  ...[17, true, {}, [], { toString: 1, valueOf: 1 }, 5n, Symbol('x'), Buffer.from('x'), 'constructor'].map(
    (header, index) => ({
      title: `compression header ${index} that no kombu writes`,
      body: BODY,
      with: compressed(header),
      reason: 'unsupported-compression',
    }),
  ),
  ...['application/x-gzip', 'application/x-brotli', 'application/zstd'].map((compression) => ({
    title: `${compression} that is none`,
    body: BODY,
    with: compressed(compression),
    reason: 'corrupt-compression',
  })),
  {
    title: 'zlib of nothing at all',
    body: '',
    with: compressed('application/x-gzip'),
    reason: 'corrupt-compression',
  },
  {
    title: 'zlib that is cut',
    body: fromPython('zlib').subarray(0, 60),
    with: compressed('application/x-gzip'),
    reason: 'corrupt-compression',
  },
  {
    title: 'zlib with a wrong checksum',
    body: Buffer.concat([fromPython('zlib').subarray(0, -1), Buffer.from([0])]),
    with: compressed('application/x-gzip'),
    reason: 'corrupt-compression',
  },
  {
    title: 'compressed text that is no UTF-8',
    body: deflateSync(Buffer.from([0xff])),
    with: compressed('application/x-gzip'),
    reason: 'invalid-text',
  },
  {
    title: 'compressed text that is no JSON',
    body: deflateSync(Buffer.from('{')),
    with: compressed('application/x-gzip'),
    reason: 'invalid-json',
  },
];

function compressed(compression: unknown): Overrides {
  return { headers: { hostname: 'w1@vm', compression } };
}

for (const { title, body, with: overrides, reason } of CASES) {
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

test('events with texts of any length are counted, under the class of their exception', () => {
  const frames = '  File "/app/shop.py", line 7, in pay\n    return pay(order)\n'.repeat(4000);
  const header = 'Traceback (most recent call last):\n';
  const chain = `${header}${frames}KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n`;
  const exception = `ExceptionWithTraceback('${'x'.repeat(200_000)}')`;
  const long = 'so long: '.repeat(10_000);
  for (const [traceback, class_, given] of [
    [`${header}${frames}shop.Declined: no\n`, 'Declined'],
    [`${chain.repeat(2)}${header}${frames}shop.Declined: no\n`, 'Declined'],
    [`${header}${frames}shop.Declined: ${long}\n`, 'Declined'],
    [`${header}${frames}shop.Declined: ${`Other: ${long}\n`.repeat(2)}`, 'Declined'],
    [`${header}${frames}shop.Declined: ${long}\n`, 'Declined', `Declined('${long}')`],
  ] as const) {
    const failed = { ...WIRE_EVENTS['task-failed'], exception: given ?? exception, traceback };
    const [event, following] = decode(message(JSON.stringify([failed, failed]))).events;
    assert.ok(event?.type === 'task-failed');
    assert.equal(event.errorType, class_);
    assert.deepEqual(following, event);
  }
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

test('the detail of a rejection is short, printable and not from the body', () => {
  const hostile = '\u001b[2J\u009b31m\u202e\ud800 é\n"\\'.repeat(40);
  const messages = [
    message('secret', { contentType: hostile }),
    message('secret', { contentEncoding: hostile }),
    message('secret', { headers: { compression: hostile } }),
    message('secret'),
    message('["secret"]'),
    message('{"type": "secret"}'),
  ];
  for (const each of messages) {
    const [rejection] = decode(each).rejections;
    assert.match(rejection?.detail ?? '', /^[\x20-\x7e]{1,120}$/u);
    assert.doesNotMatch(rejection?.detail ?? '', /secret/u);
  }
});

test('the detail of a rejection names what is not supported', () => {
  const said = (overrides: Overrides) => decode(message(BODY, overrides)).rejections[0]?.detail;
  assert.equal(said({ contentType: 'application/x-yaml' }), 'content type "application/x-yaml"');
  assert.equal(said({ contentEncoding: 'utf-16' }), 'content encoding "utf-16"');
  assert.equal(said(compressed('application/x-bz2')), 'compression "application/x-bz2"');
  assert.equal(said(compressed({})), 'compression of type object');
  assert.equal(said(compressed('application/x-gzip')), '"application/x-gzip"');
});
