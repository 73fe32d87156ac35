/** Documents from anybody. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { firstChoice, TABLES } from '../../src/top/keys.ts';
import { readDetails, readStatus } from '../../src/top/reading.ts';
import { report, windowView } from '../../src/top/window.ts';
import { UNPRINTABLE } from '../hostile-text.ts';
import { fc } from '../seed.ts';
import { DETAILS, STATUS } from './shop-snapshot.ts';

test('what is no such document is told apart', () => {
  for (const text of ['', '<html>', '[]', 'null', '{}', '{"version":2,"services":[]}', '{"version":1}']) {
    assert.equal(readStatus(text), undefined, text);
    assert.equal(readDetails(text), undefined, text);
  }
});

test('whatever stands in a document, the view shows it harmlessly', () => {
  const broken = (document: object) =>
    fc.tuple(fc.constantFrom(...Object.keys(document)), fc.jsonValue()).map(([key, value]) => ({
      ...document,
      ...(key === 'version' ? {} : { [key]: key === 'services' ? [value] : value }),
    }));
  fc.assert(
    fc.property(broken(STATUS), broken(DETAILS), (status, details) => {
      const read = readDetails(JSON.stringify(details));
      const seen = {
        status: readStatus(JSON.stringify(status)),
        details: new Map(read === undefined ? [] : [[0, read]]),
        unreachable: undefined,
      };
      const size = { columns: 80, rows: 20 };
      const views = TABLES.flatMap((table) => {
        const choice = { ...firstChoice(false), table };
        const shown = windowView(seen, choice, size);
        return [shown, windowView(seen, { ...choice, open: shown.target }, size)];
      });
      for (const line of [...views.flatMap(({ lines }) => lines), ...report(seen, true)])
        for (const { text } of line) assert.doesNotMatch(text, UNPRINTABLE);
    }),
  );
});

test('what failed and was lost lately is read, and is not known if it is absent', () => {
  const [service] = STATUS.services;
  const services = [{ ...service, tasks: { failed: 3, lost: 'x' } }, { ...service, tasks: null }, service];
  const read = readStatus(JSON.stringify({ ...STATUS, services }));
  assert.deepEqual(
    read?.services.map(({ tasks }) => tasks),
    [{ failed: 3, lost: 0 }, null, null],
  );
});

test('what stands in one row is bounded, too: each frame measures all of it', () => {
  const errors = Array.from({ length: 5000 }, (_, index) => ({ type: `Error${index}`, count: 1 }));
  const details = readDetails(
    JSON.stringify({ ...DETAILS, tasks: { total: 1, rows: [{ name: 'a', errors }] } }),
  );
  assert.equal(details?.tasks.rows[0]?.errors.length, 10);
  const dropped = Object.fromEntries(
    Array.from({ length: 5000 }, (_, index) => [`${index}${'e'.repeat(9000)}`, 1]),
  );
  const status = readStatus(JSON.stringify({ ...STATUS, services: [{ events: { dropped } }] }));
  const reasons = Object.keys(status?.services[0]?.events.dropped ?? {});
  assert.equal(reasons.length, 100);
  assert.ok(reasons.every((reason) => reason.length <= 2000));
});
