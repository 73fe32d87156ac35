/**
 * A broker is one folder, a row of `kinds.ts` and one of `transports.ts`: one of the tests’ own is added to a copy of the source,
 * and `run`, `record` and `check` work with it, as does every test of a transport.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { total } from '../../../examples/demo/otlp-points.ts';
import { startReceiver } from '../../../examples/demo/otlp-receiver.ts';
import { ListeningClock } from '../../../src/broker/session/listening-clock.ts';
import { WIRE_EVENTS } from '../../celery/wire.ts';
import { processIo } from '../../cli/process-io.ts';
import { until } from '../../until.ts';
import { testConformance } from '../conformance.ts';
import { createMemoryTransport, remember } from './transport.ts';

const ROOT = join(import.meta.dirname, '../../..');

testConformance('a broker of the tests’ own', {
  create: () => createMemoryTransport(undefined, new ListeningClock()),
  absent: () => ({ scheme: 'memory', name: 'nowhere', label: 'memory://nowhere' }),
  async open(_, messages) {
    const publish = remember('conforming');
    return {
      session: { url: { scheme: 'memory', name: 'conforming', label: 'memory://conforming' } },
      async send() {
        for (const message of messages) publish({ ...message, arrivedAtMs: 0, exchange: 'events' });
      },
    };
  },
});

const house = mkdtempSync(join(tmpdir(), 'celery-otel-house-'));
after(() => rmSync(house, { recursive: true }));
cpSync(join(ROOT, 'src'), join(house, 'src'), { recursive: true });
cpSync(join(ROOT, 'package.json'), join(house, 'package.json'));
for (const folder of ['node_modules', 'page']) symlinkSync(join(ROOT, folder), join(house, folder));
for (const file of ['kind.ts', 'transport.ts']) {
  cpSync(join(import.meta.dirname, file), join(house, 'src/broker/memory', file));
}
addRow('kinds.ts', "import { MEMORY } from './memory/kind.ts';", 'RECORDING]', 'RECORDING, MEMORY]');
addRow(
  'transports.ts',
  "import { createMemoryTransport } from './memory/transport.ts';",
  '  recording: createRecordingTransport,',
  '  recording: createRecordingTransport,\n  memory: createMemoryTransport,',
);

function addRow(file: string, line: string, place: string, row: string): void {
  const path = join(house, 'src/broker', file);
  const text = readFileSync(path, 'utf8');
  assert.ok(text.includes(place), `${file} has no ${place}`);
  writeFileSync(path, `${line}\n${text.replace(place, row)}`);
}

type Commands = typeof import('../../../src/cli/commands.ts');
type Memories = typeof import('./transport.ts');

/** A command of the copy; what is published in this process reaches it. */
async function start(t: TestContext, name: string, ...argv: readonly string[]) {
  const commands: Commands = await import(join(house, 'src/cli/commands.ts'));
  const memories: Memories = await import(join(house, 'src/broker/memory/transport.ts'));
  const publish = memories.remember(name);
  const process = processIo();
  const ended = commands.runCommandLine(argv, process.io);
  t.after(() => process.send('SIGTERM'));
  return {
    ...process,
    ended,
    /** @returns how many listen */
    publish(...events: readonly object[]) {
      const times = { timestamp: Date.now() / 1000, utcoffset: 0 };
      const body = Buffer.from(JSON.stringify(events.map((event) => ({ ...event, ...times }))));
      return publish({
        ...{ arrivedAtMs: 0, exchange: 'events', routingKey: 'task.multi', headers: {}, body },
        ...{ contentType: 'application/json', contentEncoding: 'utf-8' },
      });
    },
  };
}

const HEARTBEAT = WIRE_EVENTS['worker-heartbeat'];
const TASK = [WIRE_EVENTS['task-received'], WIRE_EVENTS['task-started'], WIRE_EVENTS['task-succeeded']];

test('run counts what it delivers', async (t) => {
  const sink = await startReceiver();
  t.after(() => sink.stop());
  const run = await start(
    t,
    'run',
    'run',
    '--broker-url',
    'memory://run',
    '--service-name',
    'shop',
    '--otlp-endpoint',
    sink.url,
  );
  await until('it listens', () => run.publish(HEARTBEAT) === 1);
  run.publish(...TASK);
  run.send('SIGTERM');
  assert.equal(await run.ended, 0, run.stderr());
  assert.equal(total(sink.latest('shop'), 'celery.task.succeeded'), 1);
});

test('check reports its workers, and the cause if nobody is there', async (t) => {
  const check = await start(
    t,
    'check',
    'check',
    '--broker-url',
    'memory://check',
    '--service-name',
    'shop',
    '--seconds',
    '1',
  );
  const beats = setInterval(() => check.publish(HEARTBEAT), 100);
  t.after(() => clearInterval(beats));
  await check.ended;
  assert.match(check.stdout(), /memory:\/\/check/u);
  assert.match(check.stdout(), /w1@vm/u);

  const nobody = await start(t, 'somebody', 'check', '--broker-url', 'memory://x', '--service-name', 'shop');
  await nobody.ended;
  assert.match(nobody.stdout(), /nobody remembers x: write the name of a memory in broker_url/u);
});
