/**
 * A bridge started by the real npm: however it is stopped, its last export arrives and no process is left. npm’s
 * behaviour depends on its shell: dash stays between the two, bash replaces itself with the command.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { total } from '../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../examples/demo/otlp-receiver.ts';
import { encodeHeader, encodeMessage } from '../../src/broker/recording/format.ts';
import { until } from '../until.ts';
import { event } from './publish.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const MAIN = path.join(ROOT, 'src/cli/main.ts');
const HOUR_MS = 3_600_000;

/** The starter does not leave before the bridge has read something, however slow the machine is. */
const UNTIL_READ = 'while ! test -e "$HOME/read"; do sleep 0.1; done';

const SCRIPTS = {
  bridge: 'celery-otel run',
  'bridge:nohup': `nohup celery-otel run & ${UNTIL_READ}`,
};

/** A user's project with the command, a script that runs it, and a recording of an hour. */
function userFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'celery-otel-npm-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  mkdirSync(path.join(folder, 'node_modules/.bin'), { recursive: true });
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify({ name: 'user', version: '1.0.0', scripts: SCRIPTS }),
  );
  const command = `#!/usr/bin/env node\nimport(${JSON.stringify(MAIN)});\n`;
  writeFileSync(path.join(folder, 'node_modules/.bin/celery-otel'), command, { mode: 0o755 });
  const nowMs = Date.now();
  const sent = JSON.stringify(event('task-sent', { name: 'shop.pay' }));
  const bodies = [
    { afterMs: 0, text: sent },
    // Its log line tells that the event before it was read.
    { afterMs: 0, text: 'no JSON' },
    { afterMs: HOUR_MS, text: sent },
  ];
  const lines = bodies.map(({ afterMs, text }) => {
    const encoded = encodeMessage({
      arrivedAtMs: nowMs + afterMs,
      exchange: 'celeryev',
      routingKey: 'task.sent',
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      headers: {},
      body: Buffer.from(text),
    });
    assert.ok(encoded.ok);
    return encoded.line.trimEnd();
  });
  writeFileSync(path.join(folder, 'a.ndjson'), [encodeHeader(nowMs).trimEnd(), ...lines, ''].join('\n'));
  return folder;
}

interface Started {
  readonly sink: Awaited<ReturnType<typeof startReceiver>>;
  log(): string;
  /** Ends npm only, or all its processes, as a terminal or a supervisor does. */
  signal(signal: NodeJS.Signals, whom: 'starter' | 'all'): void;
  /** Resolves when the starter has ended. */
  starterEnded(): Promise<unknown>;
  /** Resolves when no process is left that could write to the log. @throws after a while */
  allEnded(): Promise<unknown>;
}

/** Starts it in a group of its own, as a shell does, and resolves once the bridge has read the first event. */
async function start(t: TestContext, argv: readonly string[], cwd?: string): Promise<Started> {
  const folder = userFolder(t);
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const [command = '', ...args] = argv;
  const starter = spawn(command, args, {
    cwd: cwd ?? folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      // The Node of these tests comes first, also for npm.
      PATH: `${path.dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: folder,
      CELERY_BROKER_URL: `recording:${path.join(folder, 'a.ndjson')}`,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
      OTEL_METRIC_EXPORT_INTERVAL: String(HOUR_MS),
    },
  });
  const signal = (name: NodeJS.Signals, whom: 'starter' | 'all') => {
    assert.ok(starter.pid !== undefined);
    process.kill(whom === 'all' ? -starter.pid : starter.pid, name);
  };
  const exited = once(starter, 'exit');
  const closed = once(starter, 'close');
  let isClosed = false;
  closed.then(() => {
    isClosed = true;
  });
  t.after(() => {
    if (!isClosed) signal('SIGKILL', 'all');
  });
  let said = '';
  for (const stream of [starter.stdout, starter.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
  }
  await until(
    'the first event is read',
    () => said.includes('input-dropped'),
    () => said,
  );
  writeFileSync(path.join(folder, 'read'), '');
  return {
    sink,
    signal,
    log: () => said,
    starterEnded: () => exited,
    allEnded: () =>
      until(
        'nobody is left over',
        () => isClosed,
        () => said,
      ),
  };
}

function assertFlushed({ sink, log }: Started): void {
  assert.equal(sink.exports(), 2, `one export for the service, one for the bridge itself:\n${log()}`);
  assert.equal(total(sink.latest('shop'), 'celery.task.sent'), 1);
  assert.match(log(), /everything counted was exported/u);
}

const NPM_RUN = ['npm', 'run', 'bridge'] as const;
const NPX = ['npx', '--no-install', 'celery-otel', 'run'] as const;
const NPM_RUN_HERE = ['npm', 'run', 'celery-otel', '--', 'run'] as const;

describe('started by npm', { concurrency: 4 }, () => {
  for (const [argv, cwd] of [
    [NPM_RUN, undefined],
    [NPX, undefined],
    [NPM_RUN_HERE, ROOT],
  ] as const) {
    const title = argv.join(' ');

    test(`${title}: a SIGTERM ends npm, and then the bridge`, async (t) => {
      const started = await start(t, argv, cwd);
      started.signal('SIGTERM', 'starter');
      await started.starterEnded();
      await started.allEnded();
      assertFlushed(started);
      // In the project’s own script another process is between the two, and hands a SIGTERM on.
      if (cwd === undefined)
        assert.match(started.log(), /the npm script that started this process has ended/u);
    });

    const onLinux = { skip: process.platform !== 'linux' };
    test(`${title}: when npm is killed, the bridge shuts down`, onLinux, async (t) => {
      const started = await start(t, argv, cwd);
      started.signal('SIGKILL', 'starter');
      await started.starterEnded();
      await started.allEnded();
      assertFlushed(started);
    });

    for (const shell of ['/bin/sh', '/bin/bash']) {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        test(`${title}, scripts by ${shell}: a ${signal} to all of them shuts all down`, async (t) => {
          const started = await start(t, [argv[0], `--script-shell=${shell}`, ...argv.slice(1)], cwd);
          started.signal(signal, 'all');
          await started.allEnded();
          assertFlushed(started);
        });
      }
    }
  }

  for (const [who, argv] of [
    ['a shell', ['/bin/sh', '-c', `"${process.execPath}" "${MAIN}" run & ${UNTIL_READ}`]],
    ['a script of npm', ['npm', 'run', 'bridge:nohup']],
  ] as const) {
    test(`a bridge that ${who} left running on purpose goes on`, async (t) => {
      const started = await start(t, argv);
      await started.starterEnded();
      // Longer than it would take to notice.
      await sleep(3000);
      assert.doesNotMatch(started.log(), /stopping/u);
      assert.equal(started.sink.exports(), 0);
      started.signal('SIGTERM', 'all');
      await started.allEnded();
      assertFlushed(started);
    });
  }
});
