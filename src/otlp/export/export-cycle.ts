/**
 * Exports several sources through one exporter, a few at a time, so that none waits for all others and the backend is not
 * met by all at once. Once it seems to be away, since none of several got an answer, the rest is not tried. It keeps nothing from one cycle to the next.
 */

import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Exporter } from '../send/exporter.ts';
import { type ExportOutcome, type ExportSource, exportSource } from './export-source.ts';
import type { Stop } from './send-requests.ts';
import type { WarmUp } from './warm-up.ts';

export interface ExportCycleOptions {
  readonly exporter: Pick<Exporter<ResourceMetrics>, 'export'>;
  readonly onExport: (source: ExportSource, outcome: ExportOutcome) => void;
  /** Waited for before each request. */
  readonly warmUp?: WarmUp;
  /** A source’s turn has come; false if it is to be left out. */
  readonly begin?: (source: ExportSource) => boolean;
  /** A request of it is sent now. */
  readonly onSend?: (source: ExportSource) => void;
  /** A source that began is not under way any more, however it ended. */
  readonly onEnd?: (source: ExportSource) => void;
  /** Collecting or exporting failed in a way that is our mistake. */
  readonly onDefect: (source: ExportSource, reason: unknown) => void;
  /** Why no more requests are to be sent, if so; asked before each. */
  readonly mustStop: () => Stop | undefined;
}

/** Requests under way. */
const AT_ONCE = 4;

/** @returns those that are worth being tried again soon: a backend would refuse again what it has refused */
export async function exportCycle(
  sources: readonly ExportSource[],
  options: ExportCycleOptions,
): Promise<readonly ExportSource[]> {
  const waiting = [...sources];
  const untried = new Set<ExportSource>();
  const again = new Set<ExportSource>();
  // One that is refused for what it holds says nothing of the others; that several in a row got no answer does.
  let unavailableInARow = 0;
  let arrived = false;
  let lastReason = '';
  const mustStop = (): Stop | undefined =>
    !arrived && unavailableInARow >= AT_ONCE
      ? { kind: 'given-up', reason: `not tried, since the backend is away: ${lastReason}` }
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
  // First those that were only kept waiting by others.
  return [...untried, ...again];
}
