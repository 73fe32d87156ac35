/** How soon a closed exporter has no connection any more. */
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';

/** Less than the time after which a server closes an idle connection. */
const CLOSED_MS_MAX = 4000;

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: closing closes all connections itself`, async (t) => {
    const backend = await backendOf(t, start);
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint, { timeoutMs: 60_000 }));
    // HTTP then has two connections, one of them idle at the end.
    await Promise.all([exporter.export(sampleMetrics()), exporter.export(sampleMetrics())]);
    backend.answer({ kind: 'nothing' });
    const underWay = exporter.export(sampleMetrics());
    while (backend.requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    exporter.close();
    await underWay;
    const closedMs = performance.now();
    while (backend.connections() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    bound(t, `closing all connections by ${protocol}`, performance.now() - closedMs, CLOSED_MS_MAX, 'ms');
  });
}
