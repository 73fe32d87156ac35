/** How long the stop of a batch export takes beyond its deadline. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { freePort } from '../real/free-port.ts';
import { batched, settingsFor, until } from './batched.ts';
import { BACKENDS, backendOf } from './send/exporter-backends.ts';

/** Allowance for timers and the event loop. */
const MARGIN_MS = 5000;

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: a stop in an outage ends by the deadline`, async (t) => {
    const traces = batched(t, settingsFor(protocol, await freePort()));
    traces.start();
    traces.make('shop', 700);
    traces.make('billing', 10);
    const beganMs = performance.now();
    assert.equal((await traces.close(500)).size, 2);
    const tookMs = performance.now() - beganMs;
    bound(t, `stop within 500 ms in an outage, ${protocol}`, tookMs, 500 + MARGIN_MS, 'ms');
  });

  test(`${protocol}: a stop does not wait longer than the deadline for a backend that is silent`, async (t) => {
    const backend = await backendOf(t, start);
    backend.answer({ kind: 'nothing' });
    const traces = batched(t, settingsFor(protocol, backend.port));
    traces.start();
    traces.make('shop', 600);
    await until(() => backend.requests.length > 0, traces);
    const beganMs = performance.now();
    assert.equal((await traces.close(300)).size, 1);
    const tookMs = performance.now() - beganMs;
    bound(t, `stop within 300 ms while the backend is silent, ${protocol}`, tookMs, 300 + MARGIN_MS, 'ms');
  });
}
