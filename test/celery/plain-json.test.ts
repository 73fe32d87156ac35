/** Whatever is read without a full parser is what a full parser reads; invalid JSON is never read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PlainJson } from '../../src/celery/plain-json.ts';
import { FIELD, FIELD_NAMES, RawEvent, rawFields } from '../../src/celery/raw-fields.ts';
import { recordedMessages } from './recorded-messages.ts';

const SEED = 20_261_122;

/** In the order of FIELD; undefined if it is not plain. */
function read(text: string | Buffer, reader = new PlainJson()): readonly unknown[] | undefined {
  const value = reader.read(Buffer.from(text));
  if (value === undefined) return undefined;
  return value instanceof RawEvent ? [value.fields] : value.map(({ fields }) => fields);
}

function parsed(text: string): readonly unknown[] {
  const value: unknown = JSON.parse(text);
  return (Array.isArray(value) ? value : [value]).map(rawFields);
}

/** As Python writes it, or as compact as possible. */
function written(value: unknown, isPython: boolean): string {
  const [comma, colon] = isPython ? [', ', ': '] : [',', ':'];
  if (Array.isArray(value)) return `[${value.map((each) => written(each, isPython)).join(comma)}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}${colon}${written(each, isPython)}`,
  );
  return `{${members.join(comma)}}`;
}

const plainText = fc
  .string({ unit: 'grapheme-ascii', maxLength: 70 })
  .map((text) => text.replace(/["\\]/gu, "'"));
const finite = fc.double({ noDefaultInfinity: true, noNaN: true });
/** JSON writes those beyond with an exponent. */
const plainNumber = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  finite.filter((each) => !String(each).includes('e')),
  fc.double({ min: 1.7e9, max: 1.8e9, noNaN: true }),
);
const name = fc.oneof(fc.constantFrom(...FIELD_NAMES), plainText);
const object = (value: fc.Arbitrary<unknown>) =>
  fc.dictionary(name, value, { minKeys: 1, noNullPrototype: true });
const plain = fc.oneof(plainText, plainNumber, fc.constant(null));

test('an object or a list of plain values is read as a full parser reads it', () => {
  const reader = new PlainJson();
  const events = fc.oneof(object(plain), fc.array(object(plain), { minLength: 1, maxLength: 5 }));
  fc.assert(
    fc.property(events, fc.boolean(), (value, isPython) => {
      const text = written(value, isPython);
      assert.deepEqual(read(text, reader), parsed(text));
    }),
    { seed: SEED, numRuns: 2000, endOnFailure: true },
  );
});

test('whatever is read of any text is what a full parser reads', () => {
  const reader = new PlainJson();
  const any = fc.oneof(plain, finite, fc.boolean(), fc.string({ unit: 'binary' }), fc.jsonValue());
  const damage = fc.tuple(
    fc.nat(400),
    fc.nat(3),
    fc.constantFrom('', '"', '\\', ',', '}', '{', '-', '.', '0', 'e5', ' ', '\n', 'é'),
  );
  fc.assert(
    fc.property(object(any), fc.boolean(), fc.array(damage, { maxLength: 3 }), (value, isPython, damages) => {
      let text = written(value, isPython);
      for (const [at, cut, inserted] of damages) text = text.slice(0, at) + inserted + text.slice(at + cut);
      const fields = read(text, reader);
      if (fields !== undefined) assert.deepEqual(fields, parsed(text));
    }),
    { seed: SEED, numRuns: 20_000, endOnFailure: true },
  );
});

test('numbers of any length are read exactly', () => {
  const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?$/u);
  fc.assert(
    fc.property(digits, (text) => {
      assert.deepEqual(read(`{"runtime":${text}}`), parsed(`{"runtime":${text}}`));
    }),
    { seed: SEED, numRuns: 20_000, endOnFailure: true },
  );
});

const NOT_PLAIN = [
  '',
  ' {"type":1}',
  '{"type":1} ',
  '{}',
  '[]',
  '{"type":1',
  '{"type":1}}',
  '[{"type":1}',
  '[{"type":1},]',
  '{"type":1,}',
  '{"type" :1}',
  '{type:1}',
  '{"type":01}',
  '{"type":-}',
  '{"type":.5}',
  '{"type":5.}',
  '{"type":1.2.3}',
  '{"type":+1}',
  '{"type":1e5}',
  '{"type":nul}',
  '{"type":nulL}',
  '{"type":NaN}',
  '{"type":"a\nb"}',
  '{"type":"\u007f"}',
  '{"type":"é"}',
  '{"type":"\\u0041"}',
  '{"args":"\\u0041"}',
  '{"\\u0074ype":1}',
  '{"loadavg":[1,2,3]}',
  '{"type":"a}',
  '1',
  'null',
  '"type"',
];

test('what is not plain is left to a full parser', () => {
  for (const text of NOT_PLAIN) assert.equal(read(text), undefined, text);
});

test('a name that occurs twice has its last value', () => {
  const text = '{"name":"first","args":"x","name":"second"}';
  assert.deepEqual(read(text), parsed(text));
});

test('texts keep their values however many there are', () => {
  const reader = new PlainJson();
  for (let round = 0; round < 2; round += 1) {
    for (let index = 0; index < 10_000; index += 1) {
      const text = `{"name":"task_${index}","queue":"q${index % 7}"}`;
      assert.deepEqual(read(text, reader), parsed(text));
    }
  }
});

/** The others have a traceback, a text with escapes or, of workers, a list. */
const PLAIN_SHARE_MIN = 0.75;

test('most messages of real clusters are plain, and read as a full parser reads them', () => {
  const reader = new PlainJson();
  let plainMessages = 0;
  const uncompressed = recordedMessages().filter(({ headers }) => headers?.['compression'] === undefined);
  for (const { body } of uncompressed) {
    const fields = read(body, reader);
    if (fields === undefined) continue;
    plainMessages += 1;
    assert.deepEqual(fields, parsed(body.toString()));
  }
  const share = plainMessages / uncompressed.length;
  assert.ok(share > PLAIN_SHARE_MIN, `${share}`);
});

test('each field has its own place', () => {
  assert.deepEqual(Object.values(FIELD), [...FIELD_NAMES.keys()]);
});
