import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { detectResources, envDetector } from '@opentelemetry/resources';
import { attributeList, headerList } from '../../../src/config/format/key-value-list.ts';
import { fc } from '../../seed.ts';

/** Lists as people write them, often malformed. */
const list = fc.string({ maxLength: 30, unit: fc.constantFrom(...'abK=,; %20F-.é') });

test('accepted headers are parsed as by the exporters', () => {
  let accepted = 0;
  fc.assert(
    fc.property(list, (text) => {
      const reading = headerList.read(text);
      // What follows ; they take for metadata, which headers do not have.
      if (!reading.ok || text.includes(';')) return;
      accepted += 1;
      const theirs = Object.entries(parseKeyPairsIntoRecord(text)).map(([key, value]) => [
        key.toLowerCase(),
        value,
      ]);
      assert.deepEqual(Object.fromEntries(reading.value), Object.fromEntries(theirs));
    }),
    { numRuns: 3000 },
  );
  assert.ok(accepted > 50, `only ${accepted} lists were accepted`);
});

test('accepted resource attributes are parsed as by the SDK', (t) => {
  const before = process.env['OTEL_RESOURCE_ATTRIBUTES'];
  t.after(() => {
    if (before === undefined) delete process.env['OTEL_RESOURCE_ATTRIBUTES'];
    else process.env['OTEL_RESOURCE_ATTRIBUTES'] = before;
  });
  let accepted = 0;
  fc.assert(
    fc.property(list, (text) => {
      const reading = attributeList.read(text);
      process.env['OTEL_RESOURCE_ATTRIBUTES'] = text;
      const theirs = detectResources({ detectors: [envDetector] }).attributes;
      if (reading.ok) accepted += 1;
      // What the SDK does not read it drops whole.
      assert.deepEqual(reading.ok ? Object.fromEntries(reading.value) : {}, { ...theirs });
    }),
    { numRuns: 3000 },
  );
  assert.ok(accepted > 50, `only ${accepted} lists were accepted`);
});

test('every malformed entry is named by its number and none is quoted', () => {
  const reading = headerList.read('a=1,secret,b=2,secret=,c%=secret');
  assert.deepEqual(reading, {
    ok: false,
    expected:
      'a percent-encoded list key=value,key=value: entry 2 is not key=value; entry 4 has an empty value; ' +
      'entry 5 has an invalid percent-encoding',
  });
});

test('lists in JSON are no pairs', () => {
  for (const text of ['["a=b"]', '{"a": "b=c"}', 'a=b,["c=d"]', "['a=b', 'c=d']"]) {
    assert.equal(headerList.read(text).ok, false, text);
    assert.equal(attributeList.read(text).ok, false, text);
  }
});
