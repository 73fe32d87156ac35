/** How soon exports go on after the delay that a backend has asked for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { untilTaken } from './outages.ts';

const GOES_ON_MS_MAX = 10_000;

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: exports go on soon after a requested retry delay`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    backend.answer({ kind: 'busy', message: 'overloaded', retryAfterS: 1 });
    const beganMs = performance.now();
    assert.equal((await exporter.export(sampleMetrics())).kind, 'unavailable');
    backend.answer({ kind: 'take' });
    await untilTaken(exporter, 20);
    bound(
      t,
      `success by ${protocol} after a delay of 1 s`,
      performance.now() - beganMs,
      GOES_ON_MS_MAX,
      'ms',
    );
  });
}
