import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bridge } from '../../src/bridge/bridge.ts';
import type { BridgeOptions } from '../../src/bridge/bridge-options.ts';
import { run } from '../../src/cli/run.ts';
import { processIo } from './process-io.ts';

const ENV = { CELERY_BROKER_URL: 'amqp://me:hunter2@rabbit', OTEL_SERVICE_NAME: 'shop' };

/** Fake bridges that record their calls. */
function fakeBridges() {
  const calls: string[] = [];
  const made: BridgeOptions[] = [];
  const finished = Promise.withResolvers<Awaited<Bridge['finished']>>();
  const create = (options: BridgeOptions): Bridge => {
    made.push(options);
    return {
      start: () => calls.push('start'),
      ready: Promise.resolve({ kind: 'ready', services: [] }),
      finished: finished.promise,
      state: () => [],
      activity: async () => undefined,
      lookup: () => undefined,
      noteUncaught: (where, reason) => void calls.push(`${where}: ${reason}`),
      async stop(deadlineMs) {
        calls.push(`stop ${deadlineMs}`);
        return { flushed: true, services: [] };
      },
    };
  };
  return { calls, made, create, finish: finished.resolve };
}

test('run starts the configured bridge and stops it on a signal', async () => {
  const { io, send, stdout } = processIo(ENV);
  const bridges = fakeBridges();
  const code = run(['--tasks-max', '7'], io, bridges.create);
  assert.deepEqual(bridges.calls, ['start']);
  assert.equal(bridges.made[0]?.services[0]?.name, 'shop');
  assert.equal(bridges.made[0]?.services[0]?.cluster.tasksMax, 7);
  send('SIGTERM');
  assert.equal(await code, 0);
  assert.deepEqual(bridges.calls, ['start', 'stop 4000']);
  assert.equal(stdout(), '');
});

test('run ends when every source has ended, with 1 if one was unusable', async () => {
  for (const [why, exitCode] of [
    ['finished', 0],
    ['unusable', 1],
  ] as const) {
    const { io } = processIo(ENV);
    const bridges = fakeBridges();
    const code = run([], io, bridges.create);
    bridges.finish(why);
    assert.equal(await code, exitCode);
    assert.deepEqual(bridges.calls, ['start', 'stop 4000']);
  }
});

test('the bridge’s events are logged on stderr at the configured level', async () => {
  const { io, stderr, stdout, send } = processIo({ ...ENV, LOG_LEVEL: 'warn' });
  const bridges = fakeBridges();
  const code = run([], io, bridges.create);
  const report = bridges.made[0]?.report;
  assert.ok(report !== undefined);
  report({ kind: 'broker-connected', service: 'shop', broker: 'amqp://rabbit', attempts: 1 });
  report({ kind: 'defect', service: 'shop', where: 'deliver', reason: 'no reason' });
  send('SIGINT');
  await code;
  const lines = stderr().trim().split('\n');
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /^\{.*"level":"error".*no reason/);
  assert.equal(stdout(), '');
});

test('with invalid options nothing starts and all mistakes are listed', async () => {
  const { io, stderr, stdout, listeners } = processIo({
    ...ENV,
    OTEL_METRIC_EXPORT_INTERVAL: '12abc',
    CELERY_OTEL_NONSENSE: '1',
  });
  const bridges = fakeBridges();
  assert.equal(await run(['--nonsense', 'stray'], io, bridges.create), 78);
  assert.deepEqual(bridges.made, []);
  assert.equal(listeners(), 0);
  assert.equal(stdout(), '');
  assert.deepEqual(stderr().split('\n'), [
    'celery-otel run did not start, 3 mistakes in its options:',
    '  command line (--nonsense): expected a flag of run',
    '  environment (CELERY_OTEL_NONSENSE): expected a known variable',
    '  metric_export_interval (OTEL_METRIC_EXPORT_INTERVAL) is "12abc": expected milliseconds, a whole number from 1 to 86400000',
    'Try: celery-otel run --help',
    '',
  ]);
});

test('an exception out of a transport ends no process, and says nothing that a peer has sent', async () => {
  const { io, crash, send, stderr } = processIo(ENV);
  const bridges = fakeBridges();
  const code = run([], io, bridges.create);
  const error = new Error('ERR unknown command AUTH hunter2');
  for (const file of [
    'node_modules/ioredis/built/a.js',
    'node_modules/amqplib/lib/a.js',
    'dist/broker/a.js',
  ]) {
    error.stack = `Error: ${error.message}\n    at A.b (/app/${file}:1:2)`;
    crash(error);
  }
  assert.deepEqual(
    bridges.calls.map((call) => call.replace(/ .*/u, '')),
    ['start', 'transport:', 'transport:', 'transport:'],
  );
  assert.doesNotMatch(bridges.calls.join() + stderr(), /hunter2/u);
  send('SIGTERM');
  assert.equal(await code, 0);
});

test('any other exception ends the process, after the last export', async () => {
  for (const error of [new TypeError('x is not a function'), undefined, 'a text']) {
    const { io, crash, exits } = processIo(ENV);
    const bridges = fakeBridges();
    const code = run([], io, bridges.create);
    crash(error);
    assert.equal(await code, 1);
    assert.match(bridges.calls[1] ?? '', /^process: /u);
    assert.equal(bridges.calls[2], 'stop 4000');
    crash(error);
    assert.deepEqual(exits, []);
  }
});
