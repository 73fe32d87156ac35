/**
 * An application with its own OpenTelemetry SDK that monitors its Celery: the bridge records in the application’s
 * MeterProvider and exports nothing itself. Without a broker it replays the recording of the demo.
 */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type MeterProvider, metrics } from '@opentelemetry/api';
import { type Bridge, createBridge, createSelfLog, loadConfig } from '../../src/index.ts';
import { APPLICATION, createTelemetry } from './telemetry.ts';

const RECORDING = fileURLToPath(new URL('../demo/shop.ndjson', import.meta.url));
/** Replay speed: 1 is the original speed. */
const SPEED = 5;
const LOOK_MS = 2000;
const STOP_DEADLINE_MS = 5000;
const EXPORT_INTERVAL_MS = 5000;

async function main(): Promise<number> {
  const asked = Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
  const telemetry = createTelemetry(Number(process.env['OTEL_METRIC_EXPORT_INTERVAL'] ?? EXPORT_INTERVAL_MS));
  telemetry.start();
  // Only now: before `start`, the API returns a provider that records nothing.
  const meterProvider = metrics.getMeterProvider();
  const looks = meterProvider
    .getMeter(APPLICATION)
    .createCounter('back_office.looks', { unit: '{look}', description: 'Looks at the state of Celery.' });

  const bridge = attach(meterProvider);
  bridge.start();
  print('Waiting for Celery; Ctrl-C ends.');
  const looking = setInterval(() => {
    looks.add(1);
    print(stateOf(bridge));
  }, LOOK_MS);
  const ready = await Promise.race([bridge.ready, asked.then(() => undefined)]);
  if (ready?.kind === 'ready') print('Celery is there.');
  await asked;
  clearInterval(looking);

  // The bridge first, so that the SDK’s last export contains its last counts.
  const { services } = await bridge.stop(STOP_DEADLINE_MS);
  for (const { name, metrics: outcome } of services) print(`${name}: ${outcome}`);
  await telemetry.shutdown();
  print('Stopped.');
  return 0;
}

/** Records one Celery service and the bridge’s own metrics in the given provider, so no export is configured. */
function attach(meterProvider: MeterProvider): Bridge {
  const loaded = loadConfig({
    argv: [],
    // Not the whole environment: its OTEL_* variables configure the application’s own export.
    env: {
      CELERY_BROKER_URL: process.env['CELERY_BROKER_URL'] ?? `recording:${RECORDING}?speed=${SPEED}`,
      OTEL_SERVICE_NAME: 'shop',
    },
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.mistakes));
  const { services, self } = loaded.config;
  return createBridge({
    services: services.map((service) => ({ ...service, meterProvider })),
    self: { ...self, meterProvider },
    tell: createSelfLog({ level: 'warn', pretty: true, destination: process.stderr }),
  });
}

function stateOf(bridge: Bridge): string {
  return bridge
    .state()
    .map(({ name, phase, tables: { tasks, workers } }) => {
      return `${name}: ${phase}, ${workers.size} workers and ${tasks.size} tasks remembered`;
    })
    .join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main();
