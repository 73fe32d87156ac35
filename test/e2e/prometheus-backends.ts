/** The real Collector and the real Prometheus behind a bridge. */
import { type Otelcol, startOtelcol } from '../real/otelcol.ts';
import { type Prometheus, startPrometheus } from '../real/prometheus.ts';
import { type BridgeProcess, type Ending, startBridge } from './bridge-process.ts';

const WORKER_TIMEOUT_S = 3;
const SERIES_RETENTION_S = 5;
/** After that, a worker that is gone is not exported any more. */
export const FORGOTTEN_MS = 1000 * (WORKER_TIMEOUT_S + SERIES_RETENTION_S + 1);

/** @param rules of Prometheus: name of a file → its text */
export async function startBackends(
  t: Ending,
  rules: Readonly<Record<string, string>> = {},
): Promise<{ collector: Otelcol; prometheus: Prometheus }> {
  const collector = await startOtelcol();
  t.after(() => collector.stop());
  const target = `127.0.0.1:${collector.ports.prometheus}`;
  const prometheus = await startPrometheus({
    scrape: [{ job: 'collector', targets: [target], intervalMs: 500 }],
    rules,
  });
  t.after(() => prometheus.stop());
  return { collector, prometheus };
}

/** A bridge that exports often, and soon forgets workers that are gone. Resolves once it is connected. */
export async function startShort(
  t: Ending,
  broker: string,
  collector: Otelcol,
  more: Readonly<Record<string, string>> = {},
): Promise<BridgeProcess> {
  const bridge = startBridge(t, {
    CELERY_BROKER_URL: broker,
    OTEL_SERVICE_NAME: 'shop',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ports.otlpGrpc}`,
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    CELERY_OTEL_WORKER_TIMEOUT: String(WORKER_TIMEOUT_S),
    CELERY_OTEL_SERIES_RETENTION: String(SERIES_RETENTION_S),
    ...more,
  });
  await bridge.logged(/connected to/u);
  return bridge;
}
