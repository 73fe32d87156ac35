import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { keyOf } from '../../../src/otlp/collect/series-attributes.ts';
import { fc } from '../../seed.ts';

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 8 }), fc.constantFrom('__proto__', 'a', 'b'));
const attributes: fc.Arbitrary<Attributes> = fc.dictionary(
  text,
  fc.oneof(text, fc.boolean(), fc.integer(), fc.array(text, { maxLength: 2 })),
  { maxKeys: 4 },
);

test('the key does not depend on the order of attributes', () => {
  fc.assert(
    fc.property(attributes, (given) => {
      const turned = Object.fromEntries(Object.entries(given).reverse());
      assert.equal(keyOf(turned), keyOf(given));
    }),
  );
});

test('different attributes have different keys', () => {
  fc.assert(
    fc.property(attributes, attributes, (one, other) => {
      const sorted = (of: Attributes) => Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1));
      const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
      assert.equal(keyOf(one) === keyOf(other), same);
    }),
  );
  for (const [one, other] of [
    [{ a: 1 }, { a: '1' }],
    [{ a: true }, { a: 'true' }],
    [{ a: 'b' }, { b: 'a' }],
    [{ a: ['b', 'c'] }, { a: 'b,c' }],
    [{ a: '","b":"' }, { a: '', b: '' }],
  ] as const) {
    assert.notEqual(keyOf(one), keyOf(other));
  }
});
