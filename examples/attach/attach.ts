/**
 * An application with its own OpenTelemetry SDK that monitors its Celery: metrics, spans and log records of the bridge go
 * through the application’s providers and processor, and the bridge exports nothing itself. It sends tasks, too, whose spans
 * are below its own. Without a broker it sends none, and replays the recording of the demo.
 */
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { context, logs, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import { type Bridge, createBridge, createSelfLog, loadConfig } from '../../src/index.ts';
import { sendTask } from './send-task.ts';
import { APPLICATION, createTelemetry } from './telemetry.ts';

/** At five times its speed. */
const RECORDING = `recording:${fileURLToPath(new URL('../demo/shop.ndjson', import.meta.url))}?speed=5`;
const BROKER = process.env['CELERY_BROKER_URL'] ?? RECORDING;
const LOOK_MS = 2000;
const STOP_DEADLINE_MS = 5000;
const EXPORT_INTERVAL_MS = 5000;

async function main(): Promise<number> {
  const asked = Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)));
  const telemetry = createTelemetry(Number(process.env['OTEL_METRIC_EXPORT_INTERVAL'] ?? EXPORT_INTERVAL_MS));
  telemetry.sdk.start();
  const looks = metrics
    .getMeter(APPLICATION)
    .createCounter('back_office.looks', { unit: '{look}', description: 'Looks at the state of Celery.' });

  // Only now: before `start`, the API returns providers that record nothing.
  const bridge = attach(telemetry.spanProcessor);
  bridge.start();
  print('Waiting for Celery; Ctrl-C ends.');
  const looking = setInterval(() => {
    looks.add(1);
    print(stateOf(bridge));
  }, LOOK_MS);
  const ready = await Promise.race([bridge.ready, asked.then(() => undefined)]);
  if (ready?.kind === 'ready') {
    print('Celery is there.');
    if (!BROKER.startsWith('recording:')) await countTeapots();
  }
  await asked;
  clearInterval(looking);

  // The bridge first, so that the SDK’s last export contains its last counts.
  const { services } = await bridge.stop(STOP_DEADLINE_MS);
  for (const { name, metrics: outcome } of services) print(`${name}: ${outcome}`);
  try {
    await telemetry.sdk.shutdown();
  } catch (error) {
    print(`The last export failed: ${error}`);
    return 1;
  }
  print('Stopped.');
  return 0;
}

/** One of the application’s own spans, and a task below it. */
async function countTeapots(): Promise<void> {
  const span = trace.getTracer(APPLICATION).startSpan('count teapots', { kind: SpanKind.PRODUCER });
  const caller: { traceparent?: string } = {};
  propagation.inject(trace.setSpan(context.active(), span), caller);
  const { traceparent: rootId = '' } = caller;
  try {
    await sendTask(BROKER, { name: 'shop.check_stock', args: ['teapot'], queue: 'orders', rootId });
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
    print(`The teapots were not counted: ${error}`);
  }
  span.end();
}

/**
 * Attaches one Celery service, and the metrics about the bridge itself. No export is configured, and of traces and logs only
 * the settings are used.
 */
function attach(spanProcessor: BatchSpanProcessor): Bridge {
  const loaded = loadConfig({
    argv: [],
    // Not the whole environment: its OTEL_* variables configure the application’s own export.
    env: {
      CELERY_BROKER_URL: BROKER,
      OTEL_SERVICE_NAME: 'shop',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_LOGS_EXPORTER: 'otlp',
      // Tasks of the application name its span as their root.
      CELERY_OTEL_TRACES_JOIN: 'true',
    },
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.mistakes));
  const { config } = loaded;
  const meterProvider = metrics.getMeterProvider();
  const attachments = { meterProvider, spanProcessor, loggerProvider: logs.getLoggerProvider() };
  return createBridge({
    services: config.services.map((service) => ({ ...service, ...attachments })),
    ...(config.traces && { traces: config.traces }),
    ...(config.logs && { logs: config.logs }),
    self: { ...config.self, meterProvider },
    report: createSelfLog({ level: 'warn', pretty: true, destination: process.stderr }),
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
