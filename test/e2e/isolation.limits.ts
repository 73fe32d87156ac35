/** Services of one bridge are exported in time while the brokers of others fail in different ways. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { INTERVAL_MS, NAMES, sixServices } from './six-services.ts';
import { ownTime, turnReports } from './turn-reports.ts';

test('no failing broker delays the exports of a service', async (t) => {
  const { bridge, seen, fromMs, toMs } = await sixServices(t);
  bridge.signal('SIGUSR2');
  await bridge.logged(/"longestMs"[^\n]*\n/u);
  const [reported] = turnReports(bridge.log());
  assert.ok(reported !== undefined);
  const gaps = [...NAMES, 'celery-otel'].map((name) =>
    seen.times.longestGapWithin(name, fromMs, toMs, ownTime(reported.own)),
  );
  bound(t, 'between two exports beside failing brokers', Math.max(...gaps), 3 * INTERVAL_MS, 'ms');
});
