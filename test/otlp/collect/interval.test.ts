import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endMs, isSetBack, restated, type Start } from '../../../src/otlp/collect/interval.ts';

const START: Start = { wallMs: 5000, steadyMs: 100, isFixed: true };
const now = (wallMs: number, steadyMs: number) => ({ wallMs, steadyMs });

test('an interval ends now and keeps its start', () => {
  assert.equal(endMs(START, now(5001, 101)), 5001);
  assert.equal(restated(START, now(5001, 101)), START);
  assert.ok(!isSetBack(START, now(5001, 101)));
});

test('an interval read in the millisecond of its start takes one millisecond', () => {
  assert.equal(endMs(START, now(5000, 100)), 5001);
  assert.deepEqual(restated(START, now(5000, 100)), { wallMs: 4999, steadyMs: 100, isFixed: false });
});

test('if the clock was set back, its length is by the monotonic clock, before now or after its start', () => {
  const later = now(2000, 130.5);
  assert.equal(endMs(START, later), 5031);
  assert.deepEqual(restated(START, later), { wallMs: 1969, steadyMs: 100, isFixed: false });
});

test('a clock set back by less than a second is waited for', () => {
  assert.ok(!isSetBack(START, now(4001, 100)));
  assert.ok(isSetBack(START, now(4000, 100)));
});
