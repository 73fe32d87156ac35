/**
 * A broker is one folder, a row of `kinds.ts` and one of `transports.ts`: one of the tests’ own is added to a copy of the source,
 * and `check` works with it, as does every test of a transport.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { ListeningClock } from '../../../src/broker/session/listening-clock.ts';
import { WIRE_EVENTS } from '../../celery/wire.ts';
import { processIo } from '../../cli/process-io.ts';
import { testConformance } from '../conformance.ts';
import { MEMORY } from './kind.ts';
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

test('a row says what its broker is asked', () => {
  const url = { scheme: 'memory', name: 'shop', label: 'memory://shop' };
  assert.ok(MEMORY.owns(url));
  assert.equal(MEMORY.place(url)?.address, 'shop');
  assert.throws(() => MEMORY.place({ scheme: 'amqp', label: 'amqp://h' }), /is none of memory/u);
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

/** A check by the copy of what it remembers by that name; how many listen to what is published in this process. */
async function check(t: TestContext, name: string, memory: string) {
  const commands: Commands = await import(join(house, 'src/cli/commands.ts'));
  const memories: Memories = await import(join(house, 'src/broker/memory/transport.ts'));
  const publish = memories.remember(name);
  const beats = setInterval(() => {
    const now = { timestamp: Date.now() / 1000, utcoffset: 0 };
    const body = Buffer.from(JSON.stringify({ ...WIRE_EVENTS['worker-heartbeat'], ...now }));
    publish({
      ...{ arrivedAtMs: 0, exchange: 'events', routingKey: 'worker.heartbeat', headers: {}, body },
      ...{ contentType: 'application/json', contentEncoding: 'utf-8' },
    });
  }, 100);
  t.after(() => clearInterval(beats));
  const { io, stdout } = processIo();
  const argv = ['check', '--broker-url', `memory://${memory}`, '--service-name', 'shop', '--seconds', '1'];
  await commands.runCommandLine(argv, io);
  return stdout();
}

test('check reports its workers, and the cause if nobody is there', async (t) => {
  const report = await check(t, 'check', 'check');
  assert.match(report, /memory:\/\/check/u);
  assert.match(report, /w1@vm/u);
  const nobody = await check(t, 'somebody', 'x');
  assert.match(nobody, /nobody remembers x: write the name of a memory in broker_url/u);
});
