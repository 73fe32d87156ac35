/** What happened minute by minute in the last hour, whatever the clock does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LastHour, MINUTE_MS } from '../../../src/service/activity/last-hour.ts';

const START_MS = 1_000 * MINUTE_MS;
const at = (minutes: number) => START_MS + minutes * MINUTE_MS;

function hour() {
  return new LastHour({ counts: ['failed'], samples: ['waiting'] });
}

test('counts, samples and quantiles are of their minutes; what is not known is not 0', () => {
  const of = hour();
  assert.equal(of.read(at(0)), undefined);
  of.count('failed', at(0.2));
  of.count('failed', at(0.9));
  of.sample('waiting', 7, at(0.5));
  of.sample('waiting', 9, at(0.6));
  for (const seconds of [1, 1, 1, 10]) of.duration(seconds, at(0.7));
  of.count('failed', at(2.5));
  const read = of.read(at(3.1));
  assert.equal(read?.sinceMs, at(0));
  assert.deepEqual(read?.column('failed'), [2, 0, 1, 0]);
  assert.deepEqual(read?.column('waiting'), [9, Number.NaN, Number.NaN, Number.NaN]);
  const [first = 0, ...others] = read?.column('p50') ?? [];
  assert.ok(Math.abs(first - 1) < 0.1, String(first));
  assert.ok(Math.abs((read?.column('p95')[0] ?? 0) - 10) < 1);
  assert.deepEqual(others, [Number.NaN, Number.NaN, Number.NaN]);
});

test('an hour is kept, and nothing of an older minute appears in a newer one', () => {
  const of = hour();
  for (let minute = 0; minute < 200; minute += 1) {
    for (let count = 0; count < minute % 7; count += 1) of.count('failed', at(minute));
    if (minute % 3 === 0) of.duration(1 + (minute % 5), at(minute));
  }
  const read = of.read(at(199.5));
  assert.equal(read?.sinceMs, at(140));
  assert.deepEqual(
    read?.column('failed'),
    Array.from({ length: 60 }, (_, index) => (140 + index) % 7),
  );
  assert.deepEqual(
    read?.column('p50').map((value) => Number.isNaN(value)),
    Array.from({ length: 60 }, (_, index) => (140 + index) % 3 !== 0),
  );
  assert.deepEqual(of.read(at(500))?.column('failed'), Array(60).fill(0));
});

test('a clock that was set back a little continues in the same minute, and far back begins anew', () => {
  const of = hour();
  of.count('failed', at(10));
  of.count('failed', at(8));
  assert.deepEqual(of.read(at(10))?.column('failed'), [2]);
  of.count('failed', at(-5_000 + 1_000));
  assert.deepEqual(of.read(at(-4_000))?.column('failed'), [1]);
});

test('a loss that is refuted goes from the latest minute that has one, and never below 0', () => {
  const of = hour();
  of.takeBack('failed', at(0));
  for (const minute of [0, 1, 1, 4]) of.count('failed', at(minute));
  of.takeBack('failed', at(6));
  of.takeBack('failed', at(6));
  assert.deepEqual(of.read(at(6))?.column('failed'), [1, 1, 0, 0, 0, 0, 0]);
  for (let times = 0; times < 5; times += 1) of.takeBack('failed', at(6));
  assert.deepEqual(of.read(at(6))?.column('failed'), [0, 0, 0, 0, 0, 0, 0]);
});
