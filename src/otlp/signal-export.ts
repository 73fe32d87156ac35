/**
 * Exports the sources of one signal to one backend, with one exporter and one loop, and reports the outcome for each
 * source. It does not depend on the signal, or on how a source collects its data.
 */
import type { YieldToLoop } from '../timing/cooperative.ts';
import { type EndedExport, openBackend } from './backend.ts';
import { createExportLoop } from './export/export-loop.ts';
import type { ExportSource } from './export/export-source.ts';
import type { ExporterSettings, ExportSchedule } from './otlp-settings.ts';
import type { Signal } from './send/signal.ts';

export interface SignalExportOptions {
  /** Called after each export of the source with this name. */
  readonly onExport: (name: string, ended: EndedExport) => void;
  /** Called after an internal error, or if the collection of a source failed. Everything else continues. */
  readonly onDefect: (name: string, reason: unknown) => void;
  /** Returns a number in [0, 1), for the jitter of retries. */
  readonly random: () => number;
  /** Awaited before each long piece of work. */
  readonly yieldToLoop: YieldToLoop;
}

/** The share of the closing time for exports that are still in progress. */
const IN_PROGRESS_SHARE = 0.25;
/** The share of the remaining time for each group except the last. The first group matters most, so it gets most. */
const GROUP_SHARE = 0.75;

export function createSignalExport<Data>(
  signal: Signal<Data>,
  settings: ExporterSettings,
  schedule: ExportSchedule,
  { onExport, onDefect, random, yieldToLoop }: SignalExportOptions,
) {
  const { sending, history, ended, observe, close } = openBackend(signal, settings, {
    timeoutMsMax: schedule.timeoutMs,
    yieldToLoop,
  });
  const loop = createExportLoop<Data>({
    ...sending,
    intervalMs: schedule.intervalMs,
    onExport: ({ name }, outcome) => onExport(name, ended(name, outcome)),
    onDefect: ({ name }, reason) => onDefect(name, reason),
    random,
  });
  return {
    observe,
    start: loop.start,
    hasArrived: history.hasArrived,
    isFailing: history.isFailing,
    hasRejectedItems: history.hasRejectedItems,
    /**
     * Exports all groups once more, one after the other, each within a share of the time, then closes.
     * @returns the names of the sources that were not exported completely
     */
    async close(
      groups: readonly (readonly ExportSource<Data>[])[],
      deadlineMs: number,
    ): Promise<ReadonlySet<string>> {
      const endMs = performance.now() + deadlineMs;
      const leftMs = (): number => Math.max(0, endMs - performance.now());
      const unsent = new Set<string>();
      // A request that hangs must not use up the time of all others.
      await loop.stop(leftMs() * IN_PROGRESS_SHARE);
      for (const [index, group] of groups.entries()) {
        const shareMs = index === groups.length - 1 ? leftMs() : leftMs() * GROUP_SHARE;
        const left = await loop.flush(group, shareMs);
        for (const { name } of left) unsent.add(name);
      }
      close();
      return unsent;
    },
  };
}
