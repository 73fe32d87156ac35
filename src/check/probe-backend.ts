/** Sends one empty export to the backend, and says how it was taken. It exports no metric. */
import type { ExporterSettings } from '../otlp/otlp-settings.ts';
import { serviceResource } from '../otlp/resource.ts';
import { createExporter } from '../otlp/send/create-exporter.ts';
import { SIGNALS } from '../otlp/signals.ts';
import { type Finding, finding } from './symptoms.ts';

/** @throws CeleryOtelError `CONFIG_INVALID` for an unusable endpoint, header or file */
export async function probeBackend(settings: ExporterSettings): Promise<Finding> {
  const exporter = createExporter(settings, SIGNALS.metrics);
  try {
    const { backend } = exporter;
    const result = await exporter.export({ resource: serviceResource('celery-otel', {}), scopeMetrics: [] });
    switch (result.kind) {
      case 'success':
        return finding('backend-accepts', { backend });
      case 'partial':
        return finding(result.message === '' ? 'backend-accepts' : 'backend-warns', {
          backend,
          reason: result.message,
        });
      case 'unavailable':
        return finding('backend-unavailable', { backend, reason: result.reason });
      case 'refused':
        return finding('backend-refuses', { backend, reason: result.reason });
    }
  } finally {
    exporter.close();
  }
}
