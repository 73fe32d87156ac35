/**
 * The demo: replays a recording of a real Celery cluster through the whole bridge, over OTLP/gRPC to a receiver in this process,
 * and shows what `celery-otel top` shows of it, then the traces of two tasks as trees, and what to do next. It needs no broker and no
 * network, and ends by itself.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { printReport, type Shown, showView } from '../../src/cli/show-view.ts';
import { SnapshotSource } from '../../src/cli/snapshot-source.ts';
import { statusDocuments } from '../../src/cli/status-documents.ts';
import { openTerminal } from '../../src/cli/terminal.ts';
import { documentsOf } from '../../src/cli/top.ts';
import { type Bridge, createBridge, createSelfLog, type EventSink, loadConfig } from '../../src/index.ts';
import { startReceiver } from './otlp-receiver.ts';

const RECORDING = fileURLToPath(new URL('shop.ndjson', import.meta.url));
/** Replay speed: 1 is the original speed. */
const SPEED = 5;
const SNAPSHOT_MS = 3000;
const FLUSH_DEADLINE_MS = 5000;
const COMMAND = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** A workflow of four tasks, and a task that failed after two retries. */
const TRACED = ['6e1cc405-1a6c-4b99-9732-f0e1958ef9f6', '9062e889-a5b6-4483-aa3b-998f2ea2b387'] as const;
/** Every outcome has room. */
const COLUMNS_MIN = 120;

async function main(): Promise<number> {
  const receiver = await startReceiver();
  // The options that a user would set; nothing is special for the demo.
  const loaded = loadConfig({
    argv: [],
    env: {
      CELERY_BROKER_URL: `recording:${RECORDING}?speed=${SPEED}`,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_METRIC_EXPORT_INTERVAL: '2000',
      LOG_LEVEL: 'warn',
    },
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.mistakes));
  const { config } = loaded;
  const log = createSelfLog({ level: config.logLevel, pretty: true, destination: process.stderr });
  const documents = statusDocuments({ services: ['shop'], readiness: 'once', exportIntervalMs: undefined });
  const report: EventSink = (event) => {
    documents.note(event);
    log(event);
  };

  print(
    `A recorded Celery cluster at ${SPEED} times its speed → celery-otel → OTLP/gRPC → ${receiver.url}\n`,
  );
  const bridge = createBridge({ ...config, report, activity: true });
  bridge.start();
  await shownUntilOver(bridge, () => new SnapshotSource(documentsOf(documents, bridge)));
  // A bridge that stops is not ready.
  const status = documents.status(bridge);
  const { flushed } = await bridge.stop(FLUSH_DEADLINE_MS);
  const last = new SnapshotSource({ ...documentsOf(documents, bridge), status: async () => status });
  const width = process.stdout.isTTY ? Math.max(COLUMNS_MIN, process.stdout.columns) : undefined;
  await printReport(last, process, true, width);
  print(`\nReceived in ${receiver.exports()} requests${flushed ? '' : '; THE LAST EXPORT FAILED'}.`);
  await receiver.stop();
  print('\nThe same events make traces, with no code in the workers:');
  const codes = [];
  for (const uuid of TRACED) codes.push(await showTrace(uuid));
  print(NEXT);
  return flushed && codes.every((code) => code === 0) ? 0 : 1;
}

/** Until the recording has been played, or somebody has seen enough. */
async function shownUntilOver(bridge: Bridge, sourceOf: () => SnapshotSource): Promise<void> {
  const terminal = openTerminal(process.stdin, process.stdout, process.env);
  if (terminal === undefined) {
    const drawing = setInterval(() => snapshot(bridge), SNAPSHOT_MS);
    await bridge.finished;
    clearInterval(drawing);
    return;
  }
  const shown = showView(sourceOf(), terminal, true);
  const stopListening = closeOnSignals(shown);
  await Promise.race([bridge.finished, shown.ended]);
  stopListening();
  shown.close();
}

/** A signal ends the process as always, but on its own screen. */
function closeOnSignals(shown: Shown): () => void {
  const close = (signal: 'SIGINT' | 'SIGTERM'): void => {
    shown.close();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, close);
  return () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, close);
  };
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

const NEXT = `
What to do next:
  npm run celery-otel -- top recording:examples/demo/shop.ndjson   the same, to look around in with keys
  CELERY_BROKER_URL=amqp://guest:guest@localhost// OTEL_SERVICE_NAME=shop npm run celery-otel -- check
                                                                   whether your own cluster sends what is needed
  README.md, "First run"                                           exports its metrics
No cluster yet? examples/shop has one.`;

/** Without a terminal, a line now and then. */
function snapshot(bridge: Bridge): void {
  const [service] = bridge.state();
  print(`… ${service?.events.received ?? 0} events`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
