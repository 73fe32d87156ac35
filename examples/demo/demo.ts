/**
 * The demo: replays a recording of a real Celery cluster through the whole bridge, over OTLP/gRPC to a receiver in this
 * process, and shows the received metrics as a table, then the traces of two tasks as trees. It needs no broker and no network,
 * and ends by itself.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createBridge, createSelfLog, loadConfig } from '../../src/index.ts';
import { draw } from './live-table.ts';
import { type Receiver, startReceiver } from './otlp-receiver.ts';

const RECORDING = fileURLToPath(new URL('shop.ndjson', import.meta.url));
/** Replay speed: 1 is the original speed. */
const SPEED = 5;
const FRAME_MS = 250;
const SNAPSHOT_MS = 3000;
const FLUSH_DEADLINE_MS = 5000;
const COMMAND = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** A workflow of four tasks, and a task that failed after two retries. */
const TRACED = ['6e1cc405-1a6c-4b99-9732-f0e1958ef9f6', '9062e889-a5b6-4483-aa3b-998f2ea2b387'] as const;

async function main(): Promise<number> {
  const receiver = await startReceiver();
  // The options that a user would set; nothing is special for the demo.
  const loaded = loadConfig({
    argv: [],
    env: {
      CELERY_BROKER_URL: `recording:${RECORDING}?speed=${SPEED}`,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_METRIC_EXPORT_INTERVAL: '500',
      LOG_LEVEL: 'warn',
    },
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.mistakes));
  const { config } = loaded;
  const tell = createSelfLog({
    level: config.logLevel,
    pretty: true,
    destination: process.stderr,
  });

  print(
    `A recorded Celery cluster at ${SPEED} times its speed → celery-otel → OTLP/gRPC → ${receiver.url}\n`,
  );
  const bridge = createBridge({ ...config, tell });
  bridge.start();
  const drawing = process.stdout.isTTY ? redraw(receiver) : snapshots(receiver);
  await bridge.finished;
  const { flushed } = await bridge.stop(FLUSH_DEADLINE_MS);
  clearInterval(drawing);
  if (process.stdout.isTTY) print('\x1b[H\x1b[2J');
  print(draw(receiver.latest('shop')));
  print(`\nReceived in ${receiver.exports()} requests${flushed ? '' : '; THE LAST EXPORT FAILED'}.`);
  await receiver.stop();
  print('\nThe same events make traces, with no code in the workers:');
  const codes = [];
  for (const uuid of TRACED) codes.push(await showTrace(uuid));
  return flushed && codes.every((code) => code === 0) ? 0 : 1;
}

/** @returns the exit code of the command */
async function showTrace(uuid: string): Promise<unknown> {
  print(`\n$ celery-otel trace ${uuid}`);
  const command = spawn(process.execPath, [COMMAND, 'trace', uuid], {
    stdio: 'inherit',
    env: {
      PATH: process.env['PATH'],
      CELERY_BROKER_URL: `recording:${RECORDING}`,
      OTEL_SERVICE_NAME: 'shop',
      LOG_LEVEL: 'warn',
    },
  });
  const [code] = await once(command, 'close');
  return code;
}

/** On a terminal, redraws the whole table in place. */
function redraw(receiver: Receiver): NodeJS.Timeout {
  return setInterval(() => print(`\x1b[H\x1b[2J${draw(receiver.latest('shop'))}`), FRAME_MS);
}

/** Without a terminal, prints a line of totals now and then. */
function snapshots(receiver: Receiver): NodeJS.Timeout {
  return setInterval(() => {
    const totals = draw(receiver.latest('shop'))
      .split('\n')
      .find((line) => line.startsWith('all '));
    print(`… ${totals?.trim() ?? 'nothing yet'}`);
  }, SNAPSHOT_MS);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
