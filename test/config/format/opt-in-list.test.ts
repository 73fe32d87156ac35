import assert from 'node:assert/strict';
import { test } from 'node:test';
import { optInList } from '../../../src/config/format/metric-list.ts';
import { type InstrumentRow, METRICS, OPT_INS, optInOf } from '../../../src/meter/catalog.ts';

test('the possible entries are the opt-in attributes of the catalog, each with its metric', () => {
  const rows: readonly [string, InstrumentRow][] = Object.entries(METRICS);
  const pairs = rows.flatMap(([name, { optInAttributes = [] }]) =>
    optInAttributes.map((key) => `${name}/${key}`),
  );
  assert.ok(pairs.length > 0);
  assert.deepEqual([...OPT_INS], pairs);
  assert.equal(optInOf('celery.task.prefetch_time', 'celery.worker.name'), pairs[0]);
});

test('each can be requested alone or with others, in any order, repeatedly', () => {
  for (const optIn of OPT_INS) assert.deepEqual(optInList.read(optIn), { ok: true, value: [optIn] });
  const all = [...OPT_INS, ...OPT_INS].reverse().join(' , ');
  assert.deepEqual(optInList.read(all), { ok: true, value: OPT_INS });
});

test('the expected format shows each of them as it is written', () => {
  for (const optIn of OPT_INS) assert.ok(optInList.expects.includes(optIn), optIn);
});

test('all unknown entries are named, with suggestions', () => {
  const reading = optInList.read(
    'celery.task.prefetch_tme/celery.worker.name,celery.task.prefetch_time/celery.worker.name,queue,\u001b[2J',
  );
  assert.deepEqual(reading, {
    ok: false,
    expected:
      `${optInList.expects}: "celery.task.prefetch_tme/celery.worker.name" is unknown ` +
      '(did you mean celery.task.prefetch_time/celery.worker.name?); "queue" is unknown; "\\u001b[2J" is unknown',
  });
});
