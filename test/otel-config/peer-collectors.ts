/**
 * Real Collectors with the names of the peers, behind one with otel-config/collector.yaml that sends everything onward to them: what
 * arrives at that one once is served under all names.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { parseDocument } from 'yaml';
import { COLLECTOR_CONFIG_FILE, type Otelcol, startOtelcol } from '../real/otelcol.ts';
import { CELERY_EXPORTER, FLOWER, type Peer } from './peers.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../otel-config');

export interface PeerCollectors {
  /** It has the names of celery-otel, and is to be sent to. */
  readonly native: Otelcol;
  readonly celeryExporter: Otelcol;
  readonly flower: Otelcol;
}

export const configOf = ({ file }: Peer): string => readFileSync(path.join(FOLDER, file), 'utf8');

export async function startPeerCollectors(t: TestContext): Promise<PeerCollectors> {
  const start = (configText: string): Promise<Otelcol> => startOtelcol({ configText });
  const [celeryExporter, flower] = await Promise.all([
    start(configOf(CELERY_EXPORTER)),
    start(configOf(FLOWER)),
  ]);
  const native = await start(onwardTo({ celeryExporter, flower }));
  t.after(async () => {
    await native.stop();
    await Promise.all([celeryExporter.stop(), flower.stop()]);
  });
  return { native, celeryExporter, flower };
}

function onwardTo(others: Readonly<Record<string, Otelcol>>): string {
  const config = parseDocument(readFileSync(COLLECTOR_CONFIG_FILE, 'utf8'));
  const exporters = Object.entries(others).map(([name, { ports }]) => {
    const exporter = `otlp_grpc/${name}`;
    config.setIn(['exporters', exporter], {
      endpoint: `127.0.0.1:${ports.otlpGrpc}`,
      tls: { insecure: true },
      // In the order in which they came.
      sending_queue: { enabled: false },
    });
    return exporter;
  });
  config.setIn(['service', 'pipelines', 'metrics/onward'], {
    receivers: ['otlp'],
    processors: ['memory_limiter', 'batch'],
    exporters,
  });
  return String(config);
}
