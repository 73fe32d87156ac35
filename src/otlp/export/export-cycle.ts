/**
 * Exports several sources through one exporter, a few at a time, so that no source waits for all others, and the backend does
 * not get all requests at once. If several sources in a row fail and nothing has arrived, the backend counts as unavailable, and
 * the other sources are not tried. Nothing is kept from one cycle to the next.
 */
import { type ExportOutcome, type ExportSource, exportSource } from './export-source.ts';
import type { Backend, Stop } from './send-requests.ts';

export interface ExportCycleOptions<Data> extends Backend<Data> {
  readonly onExport: (source: ExportSource<Data>, outcome: ExportOutcome) => void;
  /** Called before a source is exported. Returning false skips the source. */
  readonly begin?: (source: ExportSource<Data>) => boolean;
  /** Called before each request of a source is sent. */
  readonly onSend?: (source: ExportSource<Data>) => void;
  /** Called when the export of a source has ended, whatever its outcome. */
  readonly onEnd?: (source: ExportSource<Data>) => void;
  /** Called if collecting or exporting throws, which is a bug. */
  readonly onDefect: (source: ExportSource<Data>, reason: unknown) => void;
}

/** Number of sources that are exported at the same time. */
const AT_ONCE = 4;

/** @returns the sources to retry soon. Sources that the backend refused are not among them: it would refuse them again. */
export async function exportCycle<Data>(
  sources: readonly ExportSource<Data>[],
  options: ExportCycleOptions<Data>,
): Promise<readonly ExportSource<Data>[]> {
  const waiting = [...sources];
  const untried = new Set<ExportSource<Data>>();
  const again = new Set<ExportSource<Data>>();
  // A refused request says nothing about other sources. Several requests in a row without a response do.
  let unavailableInARow = 0;
  let arrived = false;
  let lastReason = '';
  const mustStop = (): Stop | undefined =>
    !arrived && unavailableInARow >= AT_ONCE
      ? { kind: 'given-up', reason: `not tried, since the backend is unavailable: ${lastReason}` }
      : options.mustStop();

  async function exportOne(source: ExportSource<Data>): Promise<void> {
    const exporter: ExportCycleOptions<Data>['exporter'] = {
      export(data) {
        options.onSend?.(source);
        return options.exporter.export(data);
      },
    };
    try {
      const { outcome, unavailable, worthRetrying } = await exportSource(source, {
        ...options,
        exporter,
        mustStop,
      });
      const hasArrived = outcome !== undefined && outcome.items > 0;
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
  // Sources that were not tried come first.
  return [...untried, ...again];
}
