/** How long it takes to find the idlest series. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idlest } from '../../../src/otlp/collect/idle-series.ts';
import { bound } from '../../bound.ts';
import { processorMs } from '../../processor-time.ts';
import { dueInDisorder } from './due-series.ts';

const MANY = 100_000;
/** Of what is looked through at once. */
const TURN_MS_MAX = 50;

test(`the idlest of ${MANY} series are found within one event loop turn`, (t) => {
  const due = dueInDisorder(MANY);
  const find = () => idlest(due, 1000, MANY);
  assert.equal(find().length, 1000);
  // The best of some: garbage of what was before is not counted.
  const tookMs = Math.min(...Array.from({ length: 5 }, () => processorMs(find)));
  bound(t, `finding the idlest of ${MANY} series`, tookMs, TURN_MS_MAX, 'ms');
});
