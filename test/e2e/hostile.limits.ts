/** How much of its time a bridge gives to bodies that cannot be decompressed. */
import { test } from 'node:test';
import { BODY_LIMITS, EXPANSION_COSTS } from '../../src/celery/body-limits.ts';
import { bound } from '../bound.ts';
import { BROKER_NAMES } from '../real/brokers.ts';
import { floodWithCorrupt } from './corrupt-bodies.ts';

for (const name of BROKER_NAMES) {
  test(`of corrupt bodies on ${name}, no more are looked into than there is time for`, async (t) => {
    const { corrupt, tookS } = await floodWithCorrupt(t, name);
    const most = Math.ceil(((1 + tookS) * BODY_LIMITS.expansion_cost.max) / EXPANSION_COSTS.abortedMs);
    bound(t, `corrupt bodies that are looked into, on ${name}`, corrupt, most, 'bodies');
  });
}
