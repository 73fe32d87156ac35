/**
 * Exports several sources through one exporter, a few at a time: no source waits for all others, and the backend does not
 * get all requests at once. If several in a row fail and nothing has arrived, the backend counts as unavailable, and the
 * rest is not tried. Nothing is kept from one cycle to the next.
 */

import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Exporter } from '../send/exporter.ts';
import { type ExportOutcome, type ExportSource, exportSource } from './export-source.ts';
import type { Stop } from './send-requests.ts';
import type { WarmUp } from './warm-up.ts';

export interface ExportCycleOptions {
  readonly exporter: Pick<Exporter<ResourceMetrics>, 'export'>;
  readonly onExport: (source: ExportSource, outcome: ExportOutcome) => void;
  /** Awaited before each request. */
  readonly warmUp?: WarmUp;
  /** Called before a source is exported; false skips it. */
  readonly begin?: (source: ExportSource) => boolean;
  /** Called before each request of a source is sent. */
  readonly onSend?: (source: ExportSource) => void;
  /** Called when the export of a source has ended, however it ended. */
  readonly onEnd?: (source: ExportSource) => void;
  /** Collecting or exporting threw, which is a bug. */
  readonly onDefect: (source: ExportSource, reason: unknown) => void;
  /** Why no more requests may be sent, if so. Asked before each request. */
  readonly mustStop: () => Stop | undefined;
}

/** Sources that are exported at the same time. */
const AT_ONCE = 4;

/** @returns the sources worth retrying soon: what the backend refused, it would refuse again */
export async function exportCycle(
  sources: readonly ExportSource[],
  options: ExportCycleOptions,
): Promise<readonly ExportSource[]> {
  const waiting = [...sources];
  const untried = new Set<ExportSource>();
  const again = new Set<ExportSource>();
  // A refused request says nothing about other sources. Several in a row without an answer do.
  let unavailableInARow = 0;
  let arrived = false;
  let lastReason = '';
  const mustStop = (): Stop | undefined =>
    !arrived && unavailableInARow >= AT_ONCE
      ? { kind: 'given-up', reason: `not tried, since the backend is unavailable: ${lastReason}` }
      : options.mustStop();

  async function exportOne(source: ExportSource): Promise<void> {
    const exporter: ExportCycleOptions['exporter'] = {
      export(metrics) {
        options.onSend?.(source);
        return options.exporter.export(metrics);
      },
    };
    try {
      const { outcome, unavailable, worthRetrying } = await exportSource(source, exporter, mustStop, options);
      const hasArrived = outcome !== undefined && outcome.points > 0;
      if (unavailable) lastReason = outcome?.reason ?? '';
      if (unavailable) unavailableInARow += 1;
      else if (hasArrived) unavailableInARow = 0;
      arrived ||= hasArrived;
      if (worthRetrying) (unavailable ? again : untried).add(source);
      if (outcome !== undefined) options.onExport(source, outcome);
    } catch (error) {
      again.add(source);
      options.onDefect(source, error);
    } finally {
      options.onEnd?.(source);
    }
  }

  async function exportInTurn(): Promise<void> {
    for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
      if (options.begin?.(source) !== false) await exportOne(source);
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, exportInTurn));
  // Those that were not tried come first.
  return [...untried, ...again];
}
