/** The command `check`: its output, exit codes and progress, with a recording as the broker. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { check } from '../../src/cli/check.ts';
import { serviceFile } from '../e2e/service-file.ts';
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
  assert.equal(await check([], io), 0, stdout());
  assert.match(stdout(), /^shop\n {2}✓ connected to recording:/u);
  assert.match(stdout(), /✓ .*: Celery 5\.\d+\.\d+, pool unknown\n/u);
  assert.match(stdout(), /✓ task events are on: /u);
  assert.match(stdout(), /\nbackend\n {2}✓ .* accepts metrics\n\nFine\.\n$/u);
  assert.equal(stderr(), '', 'no progress but on a terminal');
  assert.equal(sink.latest('shop').length, 0, 'nothing was exported');
});

test('each service has a section of its own, and one that fails leaves the others as they are', async (t) => {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const services = {
    shop: { broker_url: `recording:${RECORDING}?speed=max` },
    billing: { broker_url: 'amqp://127.0.0.1:1' },
  };
  const file = serviceFile(t, { services, endpoint: sink.url, intervalMs: 1000 });
  const { io, stdout } = processIo();
  assert.equal(await check([`--config=${file}`], io), 2);
  const sections = stdout().split('\n\n');
  assert.deepEqual(
    sections.map((section) => section.split('\n', 1).join()),
    ['shop', 'billing', 'backend', 'Down: 1 down.'],
  );
  assert.match(sections[0] ?? '', /✓ task events are on: w1@shop-a$/mu);
  assert.match(sections[1] ?? '', /^billing\n {2}✗ amqp:\S+ cannot be reached: /u);
});

test('with --json the output is one JSON document', async () => {
  const { io, stdout } = processIo(envOf(NOBODY));
  assert.equal(await check(['--json'], io), 2);
  const report = JSON.parse(stdout());
  assert.equal(report.services[0].service, 'shop');
  assert.deepEqual(
    report.backend.findings.map(({ code }: { code: string }) => code),
    ['backend-unavailable'],
  );
});

test('a broker that is not there ends the check at once', async () => {
  const { io, stdout } = processIo(envOf(NOBODY, 'amqp://127.0.0.1:1;amqp://127.0.0.1:2'));
  assert.equal(await check(['--seconds=600'], io), 2);
  for (const port of [1, 2])
    assert.match(
      stdout(),
      new RegExp(
        `✗ amqp:[^ ]*127\\.0\\.0\\.1:${port}[^ ]* cannot be reached: nothing is listening on 127\\.0\\.0\\.1:${port} here: .*\\(connect ECONNREFUSED`,
        'u',
      ),
    );
});

test('a signal ends the watch, though the backend is silent, and what was seen by then is reported', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const address = silent.address();
  assert.ok(typeof address === 'object' && address !== null);
  const env = envOf(`http://127.0.0.1:${address.port}`, `recording:${RECORDING}?speed=0.001`);
  const { io, stdout, send, listeners } = processIo({ ...env, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' });
  const done = check(['--seconds=600'], io);
  while (listeners() < 2) await new Promise(setImmediate);
  send('SIGINT');
  assert.equal(await done, 2);
  assert.match(stdout(), /^shop\n/u);
  assert.match(stdout(), /\nbackend\n {2}\? .* had not replied when the check ended\n/u);
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
