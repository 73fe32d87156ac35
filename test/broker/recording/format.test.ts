/** The format of recordings: nothing is lost by encoding and decoding, and no file content throws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RawMessage } from '../../../src/broker/broker.ts';
import {
  decodeHeader,
  decodeMessage,
  encodeHeader,
  encodeMessage,
} from '../../../src/broker/recording/format.ts';

const MESSAGE: RawMessage = {
  arrivedAtMs: 1_795_231_147_917,
  exchange: 'celeryev',
  routingKey: 'task.multi',
  contentType: 'application/json',
  contentEncoding: 'utf-8',
  headers: { hostname: 'w1@shop' },
  body: Buffer.from('[{"type":"task-started"}]'),
};

function lineOf(message: RawMessage): string {
  const encoded = encodeMessage(message);
  assert.ok(encoded.ok, encoded.ok ? '' : encoded.reason);
  return encoded.line;
}

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
  const large = { ...MESSAGE, body: Buffer.alloc(1024 * 1024 + 1, 'a') };
  assert.match(lineOf(large), /"bodyBase64":"YWFh/);
  assert.deepEqual(reread(large), large);
});

test('headers keep values that JSON lacks: bytes, special numbers, dates, and keys that begin with $', () => {
  const headers = {
    bytes: Buffer.from([1, 2, 255]),
    numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 2 ** 60, 5e-324],
    timestamp: { '!': 'timestamp', value: 1_795_231_147 },
    date: new Date(1_795_231_147_917),
    big: 2n ** 63n,
    table: { $bytes: 'not ours', deeper: [{ $table: [] }, [], {}, null, true] },
    ...JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
  };
  const again = reread({ ...MESSAGE, headers }).headers;
  assert.deepEqual(again, headers);
  assert.ok(again !== undefined);
  assert.ok(Object.hasOwn(again, '__proto__'));
  assert.equal(Object.getPrototypeOf(again), Object.prototype);
  assert.deepEqual(reread({ ...MESSAGE, headers: { $a: 1 } }).headers, { $a: 1 });
  const invalid = reread({ ...MESSAGE, headers: { date: new Date(Number.NaN) } }).headers?.['date'];
  assert.ok(invalid instanceof Date && Number.isNaN(invalid.getTime()));
});

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.date({ noInvalidDate: true }),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }),
    fc.array(tie('any')),
    tie('table'),
  ),
  table: fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom('$bytes', '$table', '$', '!', '__proto__')),
    tie('any'),
    { noNullPrototype: true },
  ),
}));
const text = fc.string({ unit: 'binary' });
const body = fc.oneof(
  fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  text.map((content) => Buffer.from(content)),
);
const message = fc.record(
  {
    arrivedAtMs: fc.double({ noDefaultInfinity: true, noNaN: true, min: 0 }),
    exchange: text,
    routingKey: text,
    contentType: text,
    contentEncoding: text,
    headers: value.table.filter((table): table is Record<string, unknown> => typeof table === 'object'),
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

test('a value that cannot be encoded is refused with a reason', () => {
  const reason = (headers: Record<string, unknown>) => {
    const encoded = encodeMessage({ ...MESSAGE, headers });
    return encoded.ok ? 'ok' : encoded.reason;
  };
  assert.equal(reason({ a: undefined }), 'headers hold a undefined');
  assert.equal(reason({ a: [() => 1] }), 'headers hold a function');
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  assert.equal(reason({ a: nested(63) }), 'ok');
  assert.equal(reason({ a: nested(64) }), 'headers are nested deeper than 64');
  assert.equal(reason({ a: nested(3000) }), 'headers are nested deeper than 64');
  assert.deepEqual(encodeMessage({ ...MESSAGE, headers: undefined }), {
    ok: false,
    reason: 'its headers cannot be decoded',
  });
  assert.deepEqual(encodeMessage({ ...MESSAGE, body: undefined }), {
    ok: false,
    reason: 'its body is too large',
  });
  assert.equal(encodeMessage({ ...MESSAGE, arrivedAtMs: Number.NaN }).ok, false);
});

test('headers at the nesting limit can be decoded, whatever is innermost', () => {
  for (const innermost of [1, Buffer.from('b'), new Date(5), {}, { $a: 1 }]) {
    let headers: Record<string, unknown> = { innermost };
    while (encodeMessage({ ...MESSAGE, headers: { headers } }).ok) headers = { headers };
    assert.deepEqual(reread({ ...MESSAGE, headers }).headers, headers);
  }
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
    [lineOf(MESSAGE).replace('1795231147917', '1e999'), 'has no valid arrivedAtMs'],
    [change({ exchange: 1 }), 'has no exchange'],
    [change({ routingKey: null }), 'has no routingKey'],
    [change({ contentType: [] }), 'has no contentType'],
    [change({ contentEncoding: {} }), 'has no contentEncoding'],
    [change({ body: undefined }), 'needs either a body or a valid bodyBase64'],
    [change({ bodyBase64: 'AA==' }), 'needs either a body or a valid bodyBase64'],
    [change({ body: undefined, bodyBase64: 'A=B' }), 'needs either a body or a valid bodyBase64'],
    [change({ headers: undefined }), 'headers are not a table'],
    [change({ headers: [] }), 'headers are not a table'],
    [change({ headers: { $bytes: 'AA==' } }), 'headers are not a table'],
    [change({ headers: { a: { $bytes: '!' } } }), 'headers hold an invalid tagged value'],
    [change({ headers: { a: { $bytes: 'AA==', b: 1 } } }), 'headers hold an invalid tagged value'],
    [change({ headers: { a: { $number: '1' } } }), 'headers hold an invalid tagged value'],
    [change({ headers: { a: { $date: 1e300 } } }), 'headers hold an invalid tagged value'],
    [change({ headers: { a: { $bigint: '0x1' } } }), 'headers hold an invalid tagged value'],
    [change({ headers: { a: { $what: 1 } } }), 'headers hold an invalid tagged value'],
    [change({ headers: { $table: [['a']] } }), 'a table in the headers has a malformed entry'],
    [
      lineOf(MESSAGE).replace('"w1@shop"', '['.repeat(5e5) + ']'.repeat(5e5)),
      'headers are nested deeper than 64',
    ],
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
  assert.equal(reason(encodeHeader(0).replace(':1,', ':2,')), 'has another version than 1');
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
