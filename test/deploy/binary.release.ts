/** The single executable, in a folder of its own and without Node on the path: its files, and its main job. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { VERSION } from '../../src/self/version.ts';
import { runChild } from '../contract/child.ts';
import { ROOT } from '../contract/sources.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { receivedTotals } from '../e2e/received-totals.ts';
import { until } from '../until.ts';

const RECORDING = path.join(ROOT, 'examples/demo/shop.ndjson');
/** What the demo counts of it. */
const SUCCEEDED = 632;
const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-binary-'));
const binary = path.join(folder, 'celery-otel');
after(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => runChild(binary, args, { cwd: folder, env: {}, timeoutMs: DEADLINE_MS });

before(async () => {
  const args = [path.join(ROOT, 'scripts/build-binary.mjs'), binary];
  const built = await runChild(process.execPath, args, {
    cwd: folder,
    env: process.env,
    // It copies and rewrites 130 MB three times, which a busy machine does slowly.
    timeoutMs: 5 * DEADLINE_MS,
  });
  assert.equal(built.code, 0, built.stderr);
});

test('it has its version and the files of the package', async () => {
  assert.deepEqual(await run('--version'), { code: 0, stdout: `${VERSION}\n`, stderr: '' });
  for (const [args, text] of [
    [['--schema'], /^\{/u],
    [['--example'], /^celery:$/mu],
    [['--example', 'sentinel'], /sentinel:\/\//u],
  ] as const) {
    const { code, stdout, stderr } = await run('config', ...args);
    assert.equal(code, 0, stderr);
    assert.match(stdout, text);
  }
});

test('it counts a recorded cluster, exports over gRPC, and stops', async (t) => {
  const totals = receivedTotals();
  const sink = await startReceiver({ onExport: ({ points }) => totals.take(points) });
  t.after(() => sink.stop());
  const bridge = spawn(binary, ['run'], {
    cwd: folder,
    env: {
      CELERY_BROKER_URL: `recording:${RECORDING}?speed=max`,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      OTEL_METRIC_EXPORT_INTERVAL: '500',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => bridge.kill('SIGKILL'));
  let log = '';
  bridge.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = once(bridge, 'exit');
  await until(
    'all tasks that succeeded',
    () => totals.of('shop', 'celery.task.succeeded') === SUCCEEDED,
    () => log,
  );
  bridge.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null], log);
});

test('it serves the status page', async (t) => {
  const bridge = spawn(binary, ['run'], {
    cwd: folder,
    env: {
      CELERY_BROKER_URL: 'redis://127.0.0.1:9/0',
      OTEL_SERVICE_NAME: 'shop',
      CELERY_OTEL_STATUS_ADDRESS: '0',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => bridge.kill('SIGKILL'));
  let log = '';
  bridge.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const url = () => /(http:\/\/[\d.:]+)\/status\.json/u.exec(log)?.[1];
  await until(
    'it says where',
    () => url() !== undefined,
    () => log,
  );
  for (const [file, text] of [
    ['/', /<title>celery-otel<\/title>/u],
    ['/page.js', /EventSource/u],
  ] as const)
    assert.match(await (await fetch(`${url()}${file}`)).text(), text);
});
