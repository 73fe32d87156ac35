/** The empty export of a check, over each protocol, to backends that take it, warn, refuse it or are not there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probeBackend } from '../../src/check/probe-backend.ts';
import { BACKENDS, type BackendAnswer } from '../otlp/send/exporter-backends.ts';
import { otlpSettings } from '../otlp/settings.ts';

const SECRET = 'hunter2';
const ANSWERS: readonly (readonly [BackendAnswer, string, level: string])[] = [
  [{ kind: 'take' }, 'backend-accepts', 'ok'],
  [
    { kind: 'take', partial: { rejectedDataPoints: 0, errorMessage: 'use another endpoint' } },
    'backend-warns',
    'warning',
  ],
  [{ kind: 'refuse', message: `no such key: ${SECRET}` }, 'backend-refuses', 'failure'],
  [{ kind: 'busy', message: 'later' }, 'backend-unavailable', 'failure'],
];

for (const { protocol, start } of BACKENDS) {
  for (const [answer, code, level] of ANSWERS) {
    test(`${protocol}: ${JSON.stringify(answer)} gives ${code}`, async (t) => {
      const backend = await start();
      t.after(() => backend.stop());
      backend.answer(answer);
      const { exporter } = otlpSettings(backend.endpoint);
      const found = await probeBackend({ ...exporter, protocol, headers: { authorization: SECRET } });
      assert.equal(found.code, code);
      assert.equal(found.level, level);
      assert.equal(backend.requests.length, 1);
      assert.ok(!JSON.stringify(found).includes(SECRET), found.line);
    });
  }

  test(`${protocol}: without a backend it is unavailable, and the line says why`, async () => {
    const backend = await BACKENDS[0]?.start();
    await backend?.stop();
    const { exporter } = otlpSettings(backend?.endpoint ?? '');
    const found = await probeBackend({ ...exporter, protocol });
    assert.equal(found.code, 'backend-unavailable');
    assert.match(found.line, /nothing is listening/u);
  });
}
