/** What is kept of a trace while it is followed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { followTrace } from '../../src/cli/follow-trace.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { EVERYTHING, SHOWN } from '../../src/service/telemetry.ts';

const RECORDING = fileURLToPath(new URL('../../examples/demo/shop.ndjson', import.meta.url));
/** Its task failed. */
const FAILED = '935bed17-72e7-40ef-aae8-c426fe2575b3';

test('of all traces, neither stack traces nor arguments are kept: the tree shows none', async () => {
  const argv = ['--broker-url', `recording:${RECORDING}?speed=max`, '--service-name', 'shop'];
  const loaded = loadConfig({ argv, env: {} });
  assert(loaded.ok);
  const [service] = loaded.config.services;
  assert(service !== undefined);
  const followed = followTrace(service, {
    id: FAILED,
    settings: { ...EVERYTHING, arguments: true, exceptionEvents: true },
    exceptions: SHOWN,
    report() {},
    random: Math.random,
    signal: new AbortController().signal,
  });
  await followed.done;
  const spans = followed.spans();
  assert(spans.some(({ error }) => error?.description === 'not enough money'));
  for (const { events, attributes } of spans) {
    assert.deepEqual(events, []);
    assert.equal(attributes['celery.task.args'], undefined);
  }
});
