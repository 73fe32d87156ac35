/** The command `check`: its output, exit codes and progress, with a recording as the broker. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { check } from '../../src/cli/check.ts';
import { processIo } from './process-io.ts';

const RECORDING = fileURLToPath(new URL('../recordings/newest-prefork.ndjson', import.meta.url));
const SAME_LINE = '\r\u001b[K';
const NOBODY = 'http://127.0.0.1:1';

function envOf(endpoint: string, broker = `recording:${RECORDING}?speed=max`) {
  return { CELERY_BROKER_URL: broker, OTEL_SERVICE_NAME: 'shop', OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
}

test('a cluster and a backend without faults are reported as such', async (t) => {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const { io, stdout, stderr } = processIo(envOf(sink.url));
  assert.equal(await check(['--strict'], io), 0, stdout());
  assert.match(stdout(), /^shop\n {2}✓ connected to recording:/u);
  assert.match(stdout(), /✓ .*: Celery 5\.\d+\.\d+, pool unknown\n/u);
  assert.match(stdout(), /✓ task events are on: /u);
  assert.match(stdout(), /\nbackend\n {2}✓ .* accepts exports\n\nFound: no failures, no warnings\.\n$/u);
  assert.equal(stderr(), '', 'no progress but on a terminal');
  assert.equal(sink.latest('shop').length, 0, 'nothing was exported');
});

test('a failure gives exit code 2', async () => {
  const { io, stdout } = processIo(envOf(NOBODY));
  assert.equal(await check([], io), 2);
  assert.match(stdout(), /✗ .* cannot be reached: nothing is listening/u);
});

test('with --json the output is one JSON document', async () => {
  const { io, stdout } = processIo(envOf(NOBODY));
  assert.equal(await check(['--json'], io), 2);
  const report = JSON.parse(stdout());
  assert.equal(report.services[0].service, 'shop');
  assert.deepEqual(
    report.backend.map(({ code }: { code: string }) => code),
    ['backend-unavailable'],
  );
});

test('mistakes in options are reported, and nothing is tried', async () => {
  const { io, stderr } = processIo({ CELERY_BROKER_URL: 'amqp://b' });
  assert.equal(await check(['--seconds=0'], io), 78);
  assert.match(stderr(), /^celery-otel check did not start, 2 mistakes/u);
});

test('a broker that is not there ends the check at once', async () => {
  const { io, stdout } = processIo(envOf(NOBODY, 'amqp://127.0.0.1:1;amqp://127.0.0.1:2'));
  const beganMs = performance.now();
  assert.equal(await check(['--seconds=600'], io), 2);
  assert.ok(performance.now() - beganMs < 60_000);
  assert.match(
    stdout(),
    /✗ amqp:.*127\.0\.0\.1:1.*, amqp:.*127\.0\.0\.1:2.* cannot be reached: connect ECONNREFUSED/u,
  );
});

test('a signal ends the watch, and what was seen by then is reported', async () => {
  const { io, stdout, send, listeners } = processIo(envOf(NOBODY, `recording:${RECORDING}?speed=0.001`));
  const done = check(['--seconds=600'], io);
  while (listeners() < 2) await new Promise(setImmediate);
  send('SIGINT');
  assert.equal(await done, 2);
  assert.match(stdout(), /^shop\n/u);
});

test('on a terminal a line of progress is shown, and removed at the end', async (t) => {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const { io, stderr } = processIo(envOf(sink.url));
  const terminal = Object.assign(io.stderr, { isTTY: true });
  await check([], { ...io, stderr: terminal });
  const [before, ...lines] = stderr().split(SAME_LINE);
  assert.equal(before, '');
  assert.match(lines[0] ?? '', /^checking, 0 of about 5 s: \d+ workers, \d+ events$/u);
  assert.equal(lines.at(-1), '');
});
