/**
 * Sends one empty export of each signal to its backend, and returns the result as findings. It exports no metric, span
 * or log record.
 */
import type { Config } from '../config/config.ts';
import { type Finding, finding } from '../health/symptoms.ts';
import type { ExporterSettings } from '../otlp/otlp-settings.ts';
import { serviceResource } from '../otlp/resource.ts';
import { createExporter } from '../otlp/send/create-exporter.ts';
import type { Signal } from '../otlp/send/signal.ts';
import { SIGNALS } from '../otlp/signals.ts';

const RESOURCE = serviceResource('celery-otel', {});
const NO_METRICS = { resource: RESOURCE, scopeMetrics: [] };
const NO_ITEMS = [{ resource: RESOURCE, items: [] }];

/**
 * @param ending ends the wait for responses
 * @returns one finding for each exported signal, but only one for signals that fail for the same reason
 * @throws CeleryOtelError `CONFIG_INVALID` for an unusable endpoint, header or file
 */
export async function probeBackends(
  { otlp, traces, logs }: Pick<Config, 'otlp' | 'traces' | 'logs'>,
  ending: AbortSignal,
): Promise<readonly Finding[]> {
  const findings = await Promise.all([
    probe(otlp.exporter, SIGNALS.metrics, NO_METRICS, ending),
    ...(traces === undefined ? [] : [probe(traces.exporter, SIGNALS.traces, NO_ITEMS, ending)]),
    ...(logs === undefined ? [] : [probe(logs.exporter, SIGNALS.logs, NO_ITEMS, ending)]),
  ]);
  return findings.filter((one, index) => findings.findIndex(({ line }) => line === one.line) === index);
}

async function probe<Data>(
  settings: ExporterSettings,
  signal: Signal<Data>,
  empty: Data,
  ending: AbortSignal,
): Promise<Finding> {
  const exporter = createExporter(settings, signal);
  try {
    const of = { backend: exporter.backend, signal: signal.name };
    const ended = Promise.withResolvers<{ readonly kind: 'ended' }>();
    ending.addEventListener('abort', () => ended.resolve({ kind: 'ended' }), { once: true });
    if (ending.aborted) ended.resolve({ kind: 'ended' });
    const result = await Promise.race([exporter.export(empty), ended.promise]);
    switch (result.kind) {
      case 'ended':
        return finding('backend-unanswered', of);
      case 'success':
        return finding('backend-accepts', of);
      case 'partial':
        return finding(result.message === '' ? 'backend-accepts' : 'backend-warns', {
          ...of,
          reason: result.message,
        });
      case 'unavailable':
        return finding('backend-unavailable', { ...of, reason: result.reason });
      case 'refused':
        return finding('backend-refuses', { ...of, reason: result.reason });
    }
  } finally {
    exporter.close();
  }
}
