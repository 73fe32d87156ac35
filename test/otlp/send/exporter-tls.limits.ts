/** How soon an export to a backend ends that is not trusted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { BACKENDS, backendOf, exporterOf, exporterSettings, sampleMetrics } from './exporter-backends.ts';
import { certificates, serverOf } from './tls-files.ts';

/** Less than the time-out. */
const DOUBTED_MS_MAX = 8000;

for (const { protocol, start } of BACKENDS) {
  test(`${protocol}: an unknown CA is no matter of a time-out`, async (t) => {
    const backend = await backendOf(t, start, { tls: serverOf(certificates(t)) });
    const exporter = exporterOf(t, exporterSettings(protocol, backend.endpoint));
    const beganMs = performance.now();
    assert.equal((await exporter.export(sampleMetrics())).kind, 'unavailable');
    bound(
      t,
      `export by ${protocol} to a backend that is not trusted`,
      performance.now() - beganMs,
      DOUBTED_MS_MAX,
      'ms',
    );
  });
}
