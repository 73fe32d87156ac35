/** Services on brokers that are there have no gap in their metrics while a RabbitMQ and a Redis of others are away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { bound } from '../bound.ts';
import { type Arrival, AWAY, INTERVAL_MS, STEADY, withoutBrokers } from './services-on-brokers.ts';

const AWAY_MS = 20_000;
/** Without any news of it: whoever waited for the broker would have none all the time. */
const GAP_MAX_MS = AWAY_MS / 2;

test('unavailable brokers leave no gap in the metrics of services on other ones', async (t) => {
  await withoutBrokers(t, async (arrivals) => {
    await delay(AWAY_MS);
    const gaps = Object.keys(STEADY).map((service) => longestGaps(arrivals.get(service) ?? []));
    for (const service of Object.keys(AWAY)) {
      const { length } = arrivals.get(service) ?? [];
      assert.ok(length > AWAY_MS / INTERVAL_MS / 4, `${service} was exported all the time, too`);
    }
    const longest = (key: 'exportGapMs' | 'countGapMs') => Math.max(...gaps.map((gap) => gap[key]));
    bound(t, 'between two exports while another broker is away', longest('exportGapMs'), GAP_MAX_MS, 'ms');
    bound(t, 'between two counts while another broker is away', longest('countGapMs'), GAP_MAX_MS, 'ms');
  });
});

/** Between two exports, and between two that had counted something new. */
function longestGaps(arrivals: readonly Arrival[]): { exportGapMs: number; countGapMs: number } {
  const gap = (some: readonly Arrival[]) =>
    Math.max(...some.slice(1).map(({ atMs }, index) => atMs - (some[index]?.atMs ?? 0)));
  const growing = arrivals.filter(({ sent }, index) => sent > (arrivals[index - 1]?.sent ?? -1));
  return { exportGapMs: gap(arrivals), countGapMs: gap(growing) };
}
