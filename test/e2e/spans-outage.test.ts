/** A backend that takes no spans for a while, with a few more tasks than the queue holds. */
import { test } from 'node:test';
import { spansOutage } from './spans-outage.ts';

/** With two spans each, more than the 16,384 that wait at most. */
const TASKS = 10_000;

test('while no spans are taken, those that fit are kept, and all others counted', async (t) => {
  await spansOutage(t, TASKS);
});
