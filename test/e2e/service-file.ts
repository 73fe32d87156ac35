/** Writes configuration files with several services. It starts nothing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

type Settings = Readonly<Record<string, unknown>>;

export interface ServiceFile {
  /** By `service.name`. */
  readonly services: Readonly<Record<string, Settings>>;
  /** The settings for all services. */
  readonly common?: Settings;
  /** Where an OTLP/gRPC receiver listens. */
  readonly endpoint: string;
  readonly intervalMs: number;
}

/** The path of the file, which is gone after the test. */
export function serviceFile(t: TestContext, { services, common, endpoint, intervalMs }: ServiceFile): string {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-services-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const periodic = { interval: intervalMs, timeout: intervalMs, exporter: { otlp_grpc: { endpoint } } };
  const document = {
    file_format: '1.0',
    celery: { ...common, services },
    meter_provider: { readers: [{ periodic }] },
  };
  const path = join(folder, 'celery-otel.yaml');
  // JSON is YAML too.
  writeFileSync(path, JSON.stringify(document, undefined, 2));
  return path;
}
