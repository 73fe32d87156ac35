/**
 * Services with one file, each on a broker of its own: a RabbitMQ and a Redis cannot be reached for a while, and the services on the
 * others are not affected.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../until.ts';
import { AWAY, STEADY, withoutBrokers } from './services-on-brokers.ts';

/** Whoever waited for a broker that is away would have none. */
const EXPORTS = 10;

test('while brokers are unavailable, services on other ones go on counting, and all are exported', async (t) => {
  await withoutBrokers(t, async (arrivals) => {
    const counts = (service: string) => new Set(arrivals.get(service)?.map(({ sent }) => sent));
    const exported = () =>
      Object.fromEntries([...arrivals].map(([service, { length }]) => [service, length]));
    for (const service of Object.keys(STEADY))
      await until(`${service} counts`, () => counts(service).size >= EXPORTS, exported);
    for (const service of Object.keys(AWAY))
      await until(`${service} is exported`, () => (arrivals.get(service)?.length ?? 0) >= EXPORTS, exported);
    for (const service of Object.keys(AWAY)) assert.deepEqual([...counts(service)], [1]);
  });
});
