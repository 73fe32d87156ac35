/** The format of recordings: nothing that is read is lost by encoding and decoding, and no file content throws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RawMessage } from '../../../src/broker/broker.ts';
import {
  decodeHeader,
  decodeMessage,
  encodeHeader,
  encodeMessage,
} from '../../../src/broker/recording/format.ts';
import { LINE_LIMITS } from '../../../src/broker/recording/line-limits.ts';
import { BODY_LIMITS } from '../../../src/celery/body-limits.ts';
import { type Decoded, decode } from '../../../src/celery/decode.ts';
import { fc } from '../../seed.ts';
import { emoji, extended, lineOf, MESSAGE } from './long-lines.ts';

function reread(message: RawMessage): RawMessage {
  const decoded = decodeMessage(Buffer.from(lineOf(message)));
  assert.ok(decoded.ok, decoded.ok ? '' : decoded.reason);
  return decoded.message;
}

const fails = (line: string | Buffer) => {
  const decoded = decodeMessage(Buffer.from(line));
  return decoded.ok ? 'ok' : decoded.reason;
};

test('a header names the format and version, and can be decoded', () => {
  assert.equal(
    encodeHeader(Date.parse('2026-11-21T10:00:00.000Z')),
    '{"format":"celery-otel-recording","version":1,"recordedAt":"2026-11-21T10:00:00.000Z"}',
  );
  assert.deepEqual(decodeHeader(Buffer.from(encodeHeader(1234))), { ok: true, recordedAtMs: 1234 });
});

test('a message is one readable line', () => {
  assert.equal(
    lineOf(MESSAGE),
    '{"arrivedAtMs":1795231147917,"exchange":"celeryev","routingKey":"task.multi",' +
      '"contentType":"application/json","contentEncoding":"utf-8","headers":{"hostname":"w1@shop"},' +
      '"body":"[{\\"type\\":\\"task-started\\"}]"}',
  );
});

test('a body that is not UTF-8, or too large to read, is encoded as base64', () => {
  const binary = { ...MESSAGE, body: Buffer.from([0xff, 0x00]) };
  assert.match(lineOf(binary), /"bodyBase64":"\/wA="}$/);
  assert.deepEqual(reread(binary), binary);
  const large = { ...MESSAGE, body: Buffer.alloc(64 * 1024 + 1, 'a') };
  assert.match(lineOf(large), /"bodyBase64":"YWFh/);
  assert.deepEqual(reread(large), large);
});

test('of headers, what JSON has is kept, whatever its name', () => {
  const headers = {
    compression: 'application/zstd',
    numbers: [0, -1, 2 ** 60, 5e-324],
    timestamp: { '!': 'timestamp', value: 1_795_231_147 },
    table: { $bytes: 'text', toJSON: 1, deeper: [[], {}, null, true] },
    ...JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
  };
  const again = reread({ ...MESSAGE, headers }).headers;
  assert.deepEqual(again, headers);
  assert.ok(again !== undefined);
  assert.ok(Object.hasOwn(again, '__proto__'));
  assert.equal(Object.getPrototypeOf(again), Object.prototype);
});

test('what the decoder says of a compression, it says of the recorded one', () => {
  const compressions = [
    ...[null, '', 'application/x-gzip', 'zip', 7, Number.NaN, -0, 2n ** 63n, false, new Date(5), [], {}],
    ...[Buffer.from('application/x-gzip'), { deep: Number.POSITIVE_INFINITY }],
  ];
  for (const compression of compressions) {
    const given = { ...MESSAGE, headers: { compression } };
    const outcome = ({ events, rejections }: Decoded) => [
      events.length,
      rejections.map(({ reason }) => reason),
    ];
    assert.deepEqual(outcome(decode(reread(given))), outcome(decode(given)), String(compression));
  }
});

const text = fc.string({ unit: 'binary' });
/** JSON has no negative zero. */
const jsonValue = fc.json().map((json): unknown => JSON.parse(json));
const body = fc.oneof(
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  text.map((content) => Buffer.from(content)),
);
const message = fc.record(
  {
    arrivedAtMs: fc.double({ noNaN: true, min: 0, max: 2 ** 32 * 1000 - 1 }),
    exchange: text,
    routingKey: text,
    contentType: text,
    contentEncoding: text,
    headers: fc.dictionary(text, jsonValue, { noNullPrototype: true }),
    body,
  },
  { noNullPrototype: true },
);

test('any message gives one line, which decodes to the same message', () => {
  fc.assert(
    fc.property(message, (given) => {
      assert.ok(!lineOf(given).includes('\n'));
      assert.deepEqual(reread(given), given);
    }),
    { numRuns: 1000 },
  );
});

test('an incomplete message is refused with a reason', () => {
  const reason = (change: Partial<RawMessage>) => {
    const encoded = encodeMessage({ ...MESSAGE, ...change });
    return encoded.ok ? 'ok' : encoded.reason;
  };
  assert.equal(reason({ headers: undefined }), 'its headers cannot be decoded');
  assert.equal(reason({ body: undefined }), 'its body is too large');
  for (const arrivedAtMs of [Number.NaN, Number.POSITIVE_INFINITY, -1, 1e13])
    assert.equal(reason({ arrivedAtMs }), 'it has no valid arrivedAtMs');
});

test('the longest message that can be recorded is read again', () => {
  const text = '\u0001'.repeat(255);
  const names = { exchange: text, routingKey: text, contentType: text, contentEncoding: text };
  const headers = { text: '中'.repeat(LINE_LIMITS.recorded_headers.max - '{"text":""}'.length) };
  const body = Buffer.alloc(BODY_LIMITS.body.max, 0xff);
  const longest = { ...MESSAGE, ...names, headers, body };
  assert.deepEqual(reread(longest), longest);
  const bytes = Buffer.byteLength(lineOf(longest));
  assert.ok(bytes <= LINE_LIMITS.line.max && bytes > LINE_LIMITS.line.max - 4096, `${bytes} bytes`);
  const control = { ...MESSAGE, body: Buffer.alloc(64 * 1024, 1) };
  assert.deepEqual(reread(control), control);
});

test('headers that would be too long for a line are refused with a reason', () => {
  const headers = { bytes: Buffer.alloc(20_000) };
  assert.deepEqual(encodeMessage({ ...MESSAGE, headers }), { ok: false, reason: 'its headers are too long' });
});

test('headers that JSON cannot have are refused with a reason', () => {
  const around: unknown[] = [];
  around.push(around);
  const reason = 'its headers cannot be written';
  for (const headers of [{ around }, Object.create(Buffer.from('bytes'))])
    assert.deepEqual(encodeMessage({ ...MESSAGE, headers }), { ok: false, reason });
});

test('headers that have hardly any text can be recorded and are read again', () => {
  const { max } = LINE_LIMITS.recorded_headers;
  const zeros = { '': Array.from({ length: (max - '{"":[]}'.length) / 2 }, () => 0) };
  const empty = { '': Array.from({ length: (max - '{"":[]}'.length) / 3 }, () => []) };
  const named = Object.fromEntries(Array.from({ length: max / 10 }, (_, index) => [`${index}`, {}]));
  for (const headers of [zeros, empty, named]) {
    assert.ok(JSON.stringify(headers).length > max - 5_000);
    assert.deepEqual(reread({ ...MESSAGE, headers }), { ...MESSAGE, headers });
  }
});

test('a line that would take long to parse is refused before that', async () => {
  const { line_depth: depth, line_structure: structure, line_unicode: unicode } = LINE_LIMITS;
  const nested = (levels: number) => extended(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  assert.equal(fails(nested(depth.max - 2)), 'ok');
  assert.equal(fails(nested(depth.max)), 'is nested more than 80 deep');
  const zeros = (bytes: number) => extended(`[${'0,'.repeat(bytes / 2)}0]`);
  assert.equal(fails(zeros(structure.max - 200)), 'ok');
  assert.equal(fails(zeros(structure.max)), 'has more than 33792 bytes outside of strings');
  assert.equal(fails(emoji(unicode.max - 400)), 'ok');
  assert.equal(fails(emoji(unicode.max)), 'has more than 1048576 bytes, and not only ASCII');
  const named = (bytes: number) => extended(`{"${'n'.repeat(bytes)}":0}`);
  assert.equal(fails(named(2048)), 'ok');
  assert.equal(fails(named(2049)), 'has a name of more than 2048 bytes');
});

test('a malformed line gives a reason that never quotes it', () => {
  const change = (fields: Record<string, unknown>) =>
    JSON.stringify({ ...JSON.parse(lineOf(MESSAGE)), ...fields });
  const expected: readonly (readonly [string | Buffer, string])[] = [
    ['', 'is not JSON'],
    ['{"body":"secret"', 'is not JSON'],
    ['[1]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    [Buffer.from([0x22, 0xff, 0x22]), 'is not UTF-8'],
    ['{}', 'has no valid arrivedAtMs'],
    [change({ arrivedAtMs: 'now' }), 'has no valid arrivedAtMs'],
    ...['1e999', '-1', '10000000000000', '2251799813685248000'].map(
      (atMs) => [lineOf(MESSAGE).replace('1795231147917', atMs), 'has no valid arrivedAtMs'] as const,
    ),
    [change({ exchange: 1 }), 'has no exchange'],
    [change({ routingKey: null }), 'has no routingKey'],
    [change({ contentType: [] }), 'has no contentType'],
    [change({ contentEncoding: {} }), 'has no contentEncoding'],
    [change({ body: undefined }), 'needs either a body or a valid bodyBase64'],
    [change({ bodyBase64: 'AA==' }), 'needs either a body or a valid bodyBase64'],
    [change({ body: undefined, bodyBase64: 'A=B' }), 'needs either a body or a valid bodyBase64'],
    [change({ headers: undefined }), 'has no headers'],
    [change({ headers: [] }), 'has no headers'],
  ];
  for (const [line, reason] of expected) assert.equal(fails(line), reason, line.toString().slice(0, 200));
});

test('unknown keys are ignored', () => {
  assert.equal(fails(lineOf(MESSAGE).replace('{', '{"later":1,')), 'ok');
});

test('a malformed header gives a reason', () => {
  const reason = (line: string) => {
    const decoded = decodeHeader(Buffer.from(line));
    return decoded.ok ? 'ok' : decoded.reason;
  };
  assert.equal(reason('nonsense'), 'is not JSON');
  assert.equal(reason(lineOf(MESSAGE)), 'is not the header of a celery-otel-recording');
  assert.equal(reason(encodeHeader(0).replace(':1,', ':2,')), 'has a version other than 1');
  assert.equal(reason(encodeHeader(0).replace('1970', 'year')), 'has no valid recordedAt');
});

test('any bytes give an outcome', () => {
  const line = lineOf(MESSAGE);
  const damaged = fc
    .tuple(fc.nat(line.length), fc.nat(5), fc.uint8Array({ maxLength: 5 }))
    .map(([at, cut, bytes]) =>
      Buffer.concat([Buffer.from(line.slice(0, at)), bytes, Buffer.from(line.slice(at + cut))]),
    );
  const anything = fc.oneof(
    damaged,
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.json().map((json) => Buffer.from(json)),
  );
  fc.assert(
    fc.property(anything, (given) => {
      for (const outcome of [decodeMessage(given), decodeHeader(given)])
        assert.equal(typeof outcome.ok, 'boolean');
    }),
    { numRuns: 1000 },
  );
});
