/**
 * Bodies of 100 MiB on a real RabbitMQ: each is counted, none is kept, and the session goes on, also while recording.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { bound } from '../bound.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { type BridgeProcess, startBridge } from './bridge-process.ts';
import { event, publish, publishRaw } from './publish.ts';
import type { MemoryReport } from './report-memory.ts';

const MIB = 1024 * 1024;
const BODIES = 10;
const BODY = Buffer.alloc(100 * MIB, ' ');
/** Chunks read from a socket become garbage, of which the engine collects up to 64 MiB. */
const GARBAGE_MAX = 80 * MIB;
const HELD_MAX = 4 * MIB;
const REPORT_MEMORY = import.meta.resolve('./report-memory.ts');
const NODE_OPTIONS = ['--expose-gc', '--import', REPORT_MEMORY];

test('ten bodies of 100 MiB take no memory, and later events are counted', {
  timeout: 120_000,
}, async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const common = { CELERY_BROKER_URL: rabbitmq.url, CELERY_OTEL_EVENT_QUEUE_BYTES_MAX: `${4096 * MIB}` };
  const env = {
    ...common,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
  };
  const bridge = startBridge(t, env, ['run'], NODE_OPTIONS);
  const file = join(folderOf(t), 'recording.ndjson');
  const recording = startBridge(t, common, ['record', '--out', file], NODE_OPTIONS);
  const both = [bridge, recording];
  for (const { logged } of both) await logged(/connected to/u);
  await publish(rabbitmq.url, [event('worker-heartbeat')]);
  await sink.waitFor('celery-otel', (points) => total(points, 'celery_otel.events') === 1, 10_000);
  const before = await Promise.all(both.map((process) => memoryOf(process, 1)));

  const message = { routingKey: 'task.sent', contentType: 'application/json', contentEncoding: 'utf-8' };
  for (let body = 0; body < BODIES; body += 1) {
    await publishRaw(rabbitmq.url, [{ ...message, body: BODY }]);
    await publish(rabbitmq.url, [event('task-sent', { name: 'shop.pay', queue: 'orders' })]);
  }
  await sink.waitFor('shop', (points) => total(points, 'celery.task.sent') === BODIES, 30_000);
  const reason = { 'celery_otel.drop.reason': 'body-too-large' };
  await sink.waitFor(
    'celery-otel',
    (points) => total(points, 'celery_otel.input.dropped', reason) === BODIES,
    10_000,
  );
  const after = await Promise.all(both.map((process) => memoryOnceRead(process)));
  for (const [index, { external, externalMax, heapUsed }] of after.entries()) {
    const first = before[index];
    assert.ok(first !== undefined);
    const what = `bodies of 100 MiB, ${index === 0 ? 'run' : 'record'}`;
    bound(t, `${what}: buffers at once`, (externalMax - first.external) / MIB, GARBAGE_MAX / MIB, 'MiB');
    bound(t, `${what}: buffers kept`, (external - first.external) / MIB, HELD_MAX / MIB, 'MiB');
    bound(t, `${what}: heap kept`, (heapUsed - first.heapUsed) / MIB, HELD_MAX / MIB, 'MiB');
  }
  for (const process of both) assert.equal([...process.log().matchAll(/connected to/gu)].length, 1);

  recording.signal('SIGTERM');
  const { code, stdout } = await recording.ended();
  assert.equal(code, 0);
  assert.equal(stdout, `${BODIES + 1} messages are in ${file}, ${BODIES} could not be recorded\n`);
});

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-huge-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The recording may still be reading when the bridge is not: then its memory is measured again. */
async function memoryOnceRead(process: BridgeProcess): Promise<MemoryReport> {
  let before = await memoryOf(process, 2);
  for (let times = 3; ; times += 1) {
    const now = await memoryOf(process, times);
    const externalMax = Math.max(before.externalMax, now.externalMax);
    if (now.external >= before.external) return { ...now, externalMax };
    before = { ...now, externalMax };
  }
}

async function memoryOf(process: BridgeProcess, times: number): Promise<MemoryReport> {
  process.signal('SIGUSR2');
  await process.logged(new RegExp(`(?:"heapUsed"[^]*){${times}}`, 'u'));
  const reported = process
    .log()
    .split('\n')
    .filter((line) => line.startsWith('{"externalMax"'));
  return JSON.parse(reported[times - 1] ?? '');
}
