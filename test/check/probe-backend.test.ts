/** The empty exports of a check, over each protocol, to backends that take it, warn, refuse it or are not there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probeBackends } from '../../src/check/probe-backend.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Finding } from '../../src/health/symptoms.ts';
import type { ExporterSettings } from '../../src/otlp/otlp-settings.ts';
import { BACKENDS, type BackendAnswer } from '../otlp/send/exporter-backends.ts';
import { otlpSettings } from '../otlp/settings.ts';

/** Of metrics alone. */
async function probeBackend(exporter: ExporterSettings, ending: AbortSignal): Promise<Finding> {
  const [found, ...others] = await probeBackends({ otlp: { ...otlpSettings(''), exporter } }, ending);
  assert.ok(found !== undefined && others.length === 0);
  return found;
}

const SECRET = 'hunter2';
const NEVER = new AbortController().signal;
const ANSWERS: readonly (readonly [BackendAnswer, string, grade: string])[] = [
  [{ kind: 'take' }, 'backend-accepts', 'fine'],
  [
    { kind: 'take', partial: { rejectedDataPoints: 0, errorMessage: 'use another endpoint' } },
    'backend-warns',
    'degraded',
  ],
  [{ kind: 'refuse', message: `no such key: ${SECRET}` }, 'backend-refuses', 'down'],
  [{ kind: 'busy', message: 'later' }, 'backend-unavailable', 'down'],
];

for (const { protocol, start } of BACKENDS) {
  for (const [answer, code, grade] of ANSWERS) {
    test(`${protocol}: ${JSON.stringify(answer)} gives ${code}`, async (t) => {
      const backend = await start();
      t.after(() => backend.stop());
      backend.answer(answer);
      const { exporter } = otlpSettings(backend.endpoint);
      const found = await probeBackend({ ...exporter, protocol, headers: { authorization: SECRET } }, NEVER);
      assert.equal(found.code, code);
      assert.equal(found.grade, grade);
      assert.equal(backend.requests.length, 1);
      assert.doesNotMatch(found.line, /reached/u, 'it has answered');
      assert.ok(!JSON.stringify(found).includes(SECRET), found.line);
    });
  }

  test(`${protocol}: the end of the check does not wait for a backend that is silent`, async (t) => {
    const backend = await start();
    t.after(() => backend.stop());
    backend.answer({ kind: 'nothing' });
    const { exporter } = otlpSettings(backend.endpoint);
    const ending = new AbortController();
    const probe = probeBackend({ ...exporter, protocol, timeoutMs: 600_000 }, ending.signal);
    await t.waitFor(() => assert.equal(backend.requests.length, 1), { timeout: 10_000 });
    ending.abort();
    assert.equal((await probe).code, 'backend-unanswered');
    const after = await probeBackend({ ...exporter, protocol }, ending.signal);
    assert.equal(after.grade, 'unknown');
  });

  test(`${protocol}: without a backend it is unavailable, and the line says why`, async () => {
    const backend = await BACKENDS[0]?.start();
    await backend?.stop();
    const { exporter } = otlpSettings(backend?.endpoint ?? '');
    const found = await probeBackend({ ...exporter, protocol }, NEVER);
    assert.equal(found.code, 'backend-unavailable');
    assert.match(found.line, /nothing is listening/u);
  });

  test(`${protocol}: traces and logs are probed at their own backends, if they are exported`, async (t) => {
    const [metrics, traces] = [await start(), await start()];
    t.after(() => Promise.all([metrics.stop(), traces.stop()]));
    const env = {
      CELERY_BROKER_URL: 'redis://127.0.0.1:1',
      OTEL_SERVICE_NAME: 'shop',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: metrics.endpoint,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces.endpoint,
      OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: traces.endpoint,
    };
    const loaded = loadConfig({ argv: [], env });
    assert.ok(loaded.ok, JSON.stringify(loaded));
    const taken = await probeBackends(loaded.config, NEVER);
    assert.deepEqual(
      taken.map(({ code, line }) => [code, line.replace(/^.* accepts/u, 'accepts')]),
      ['metrics', 'traces', 'logs'].map((signal) => ['backend-accepts', `accepts ${signal}`]),
    );
    assert.equal(metrics.requests.length, 1);
    assert.equal(traces.requests.length, 2);
    // What is not there for one reason is told once.
    await traces.stop();
    const gone = await probeBackends(loaded.config, NEVER);
    assert.deepEqual(
      gone.map(({ code }) => code),
      ['backend-accepts', 'backend-unavailable'],
    );
  });
}
