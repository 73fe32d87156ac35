/**
 * Exports what one source has, request by request, and says how that ended. What did not arrive stays with the source. It
 * decides neither when nor whether to try again.
 */

import type { ExportRequest } from './export-request.ts';
import { type Backend, nothingSent, type Sent, sendRequests } from './send-requests.ts';

export interface ExportSource {
  readonly name: string;
  /** What there is to export now, in requests. */
  collect(): Promise<readonly ExportRequest[]>;
}

export interface ExportOutcome {
  /** `partial`: the backend took it but for some points that it will never take. */
  readonly outcome: 'success' | 'partial' | 'failure';
  readonly durationMs: number;
  /** Of that, for answers of the backend, ms. */
  readonly waitedMs: number;
  /** That arrived, those that were rejected included. */
  readonly points: number;
  readonly rejectedPoints: number;
  /** What the backend said of it; '' where all is well. */
  readonly reason: string;
}

export interface SourceExport {
  /** Undefined where the loop was stopped before anything arrived: the flush has the outcome of that. */
  readonly outcome: ExportOutcome | undefined;
  /** Whether the backend did not answer or was busy. */
  readonly unavailable: boolean;
  /** Whether what failed may well succeed soon: not what was refused. */
  readonly worthRetrying: boolean;
}

export async function exportSource(
  source: ExportSource,
  exporter: Backend['exporter'],
  mustStop: Backend['mustStop'],
  more: Pick<Backend, 'warmUp'> = {},
): Promise<SourceExport> {
  const startedMs = performance.now();
  const stop = mustStop();
  const sent =
    stop === undefined
      ? await sendRequests(await source.collect(), { ...more, exporter, mustStop })
      : nothingSent(stop);
  const outcome = outcomeOf(sent);
  return {
    outcome: outcome && { durationMs: performance.now() - startedMs, ...outcome },
    unavailable: sent.stop?.kind === 'unavailable',
    worthRetrying: sent.stop !== undefined && sent.refused.length === 0,
  };
}

function outcomeOf({
  points,
  rejectedPoints,
  waitedMs,
  remarks,
  refused,
  stop,
}: Sent): Omit<ExportOutcome, 'durationMs'> | undefined {
  const isStopped = stop?.kind === 'stopped';
  if (isStopped && points === 0 && refused.length === 0) return undefined;
  const remark = remarks.find((said) => said !== '') ?? '';
  const failure = refused[0]?.reason ?? (isStopped ? undefined : stop?.reason);
  if (failure === undefined) {
    const outcome = remarks.length > 0 ? 'partial' : 'success';
    return { outcome, points, rejectedPoints, waitedMs, reason: remark };
  }
  // Why it failed, and what the backend said of that which it took.
  const reason = remark === '' ? failure : `${failure}; before that: ${remark}`;
  return { outcome: 'failure', points, rejectedPoints, waitedMs, reason };
}
