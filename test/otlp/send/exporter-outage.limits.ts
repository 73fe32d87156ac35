/** How long exports take while a backend is away, silent or broken, and how soon one is reached again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound, boundWorst } from '../../bound.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { PEERS, rawPeer, untilTaken } from './outages.ts';

/** Allowance for timers and the event loop. */
const MARGIN_MS = 5000;
/** Half of the deadline. */
const AT_ONCE_MS_MAX = 5000;
const AGAIN_MS_MAX = 2000;

async function timed<T>(work: Promise<T>): Promise<{ readonly result: T; readonly tookMs: number }> {
  const beganMs = performance.now();
  const result = await work;
  return { result, tookMs: performance.now() - beganMs };
}

for (const { protocol, start } of BACKENDS) {
  const path = protocol === 'grpc' ? '' : '/v1/metrics';

  test(`${protocol}: a backend is reached again soon after an outage`, async (t) => {
    const first = await backendOf(t, start);
    const { port } = first;
    const exporter = exporterOf(t, exporterSettings(protocol, first.endpoint, { timeoutMs: 10_000 }));
    assert.equal((await exporter.export(sampleMetrics())).kind, 'success');
    await first.stop();
    // The back-off that gRPC has of its own would be at two and a half seconds by then.
    const awayMs = protocol === 'grpc' ? 3200 : 300;
    const costs: (readonly [string, number])[] = [];
    for (const awayUntilMs = performance.now() + awayMs; performance.now() < awayUntilMs; ) {
      const { result, tookMs } = await timed(exporter.export(sampleMetrics()));
      assert.equal(result.kind, 'unavailable');
      costs.push([`number ${costs.length + 1}`, tookMs]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    boundWorst(t, `export by ${protocol} in an outage`, costs, AT_ONCE_MS_MAX, 'ms');
    await backendOf(t, start, { port });
    const { tookMs } = await timed(untilTaken(exporter, 20));
    bound(t, `first success by ${protocol} after an outage`, tookMs, AGAIN_MS_MAX, 'ms');
  });

  test(`${protocol}: no peer delays an export beyond its deadline`, async (t) => {
    const costs: (readonly [string, number])[] = [];
    const backend = await backendOf(t, start);
    const silenced = exporterOf(t, exporterSettings(protocol, backend.endpoint, { timeoutMs: 300 }));
    assert.equal((await silenced.export(sampleMetrics())).kind, 'success');
    backend.answer({ kind: 'nothing' });
    const { result, tookMs } = await timed(silenced.export(sampleMetrics()));
    assert.equal(result.kind, 'unavailable');
    costs.push(['a backend that does not answer', tookMs]);
    for (const scheme of ['http', 'https'] as const) {
      for (const [peer, treat] of Object.entries(PEERS)) {
        const port = await rawPeer(t, treat);
        const endpoint = `${scheme}://127.0.0.1:${port}${path}`;
        const exporter = exporterOf(t, exporterSettings(protocol, endpoint, { timeoutMs: 300 }));
        const { result, tookMs } = await timed(exporter.export(sampleMetrics()));
        assert.equal(result.kind, 'unavailable', JSON.stringify(result));
        costs.push([`one by ${scheme} that ${peer}`, tookMs]);
      }
    }
    boundWorst(t, `export by ${protocol} with a time-out of 300 ms`, costs, 300 + MARGIN_MS, 'ms');
  });
}
