/**
 * One backend for one signal: its exporter, as the loops use it, and what is known of its earlier exports. It schedules nothing.
 */
import type { YieldToLoop } from '../timing/cooperative.ts';
import { createExportHistory, type Recovery } from './export/export-history.ts';
import type { ExportOutcome } from './export/export-source.ts';
import { createWarmUp } from './export/warm-up.ts';
import type { ExporterSettings } from './otlp-settings.ts';
import { createExporter } from './send/create-exporter.ts';
import type { Signal } from './send/signal.ts';

/** A finished export. */
export interface EndedExport extends ExportOutcome {
  /** Endpoint and protocol, without secrets. */
  readonly backend: string;
  /** The preceding failures, if this is the first success after them. */
  readonly recovery: Recovery | undefined;
}

export interface OpenBackendOptions {
  /** A request must not outlive its export, ms. */
  readonly timeoutMsMax: number;
  /** Awaited before each request is encoded. */
  readonly yieldToLoop: YieldToLoop;
}

/** @throws CeleryOtelError `CONFIG_INVALID`, in the same cases as `createExporter` */
export function openBackend<Data>(
  signal: Signal<Data>,
  settings: ExporterSettings,
  { timeoutMsMax, yieldToLoop }: OpenBackendOptions,
) {
  const timeoutMs = Math.min(settings.timeoutMs, timeoutMsMax);
  const exporter = createExporter({ ...settings, timeoutMs }, signal);
  const history = createExportHistory();
  return {
    /** For a loop. */
    sending: {
      exporter: {
        async export(data: Data) {
          await yieldToLoop();
          return exporter.export(data);
        },
      },
      warmUp: createWarmUp(exporter.encode),
    },
    history,
    /** Notes the outcome of an export of the source with this name. */
    ended(name: string, outcome: ExportOutcome): EndedExport {
      const recovery = history.note(name, outcome, performance.now());
      return { ...outcome, backend: exporter.backend, recovery };
    },
    observe: exporter.observe,
    close: exporter.close,
  };
}
