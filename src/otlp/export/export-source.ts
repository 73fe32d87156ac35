/**
 * Exports what one source has, request by request, and says how that ended. What did not arrive stays with the source. It
 * decides neither when nor whether to try again.
 */

import type { Exporter } from '../send/exporter.ts';
import type { ExportRequest } from './export-request.ts';

export interface ExportSource {
  readonly name: string;
  /** What there is to export now, in requests. */
  collect(): Promise<readonly ExportRequest[]>;
}

export interface ExportOutcome {
  /** `partial`: the backend took it but for some points that it will never take. */
  readonly outcome: 'success' | 'partial' | 'failure';
  readonly durationMs: number;
  /** That arrived, those that were rejected included. */
  readonly points: number;
  readonly rejectedPoints: number;
  /** What the backend said of it; '' where all is well. */
  readonly reason: string;
}

/** Asked before each request: why no more are to be sent, if so. */
export type Forbid = () => string | undefined;

export interface SourceExport {
  readonly outcome: ExportOutcome;
  /** Whether the backend did not answer or was busy. */
  readonly unavailable: boolean;
  /** Whether what failed may well succeed soon: not what was refused. */
  readonly worthRetrying: boolean;
}

export async function exportSource(
  source: ExportSource,
  exporter: Pick<Exporter, 'export'>,
  forbid: Forbid,
): Promise<SourceExport> {
  const startedMs = performance.now();
  const tally = { points: 0, rejectedPoints: 0 };
  let failure = forbid();
  let refused = false;
  let isPartial = false;
  let remark = '';
  let unavailable = false;
  for (const request of failure === undefined ? await source.collect() : []) {
    const forbidden = forbid();
    if (forbidden !== undefined || unavailable) {
      failure ??= forbidden;
      break;
    }
    const result = await exporter.export(request.metrics());
    switch (result.kind) {
      case 'partial':
        isPartial = true;
        tally.rejectedPoints += result.rejectedPoints;
        if (remark === '') remark = result.message;
        tally.points += request.points;
        request.exported();
        break;
      case 'success':
        tally.points += request.points;
        request.exported();
        break;
      case 'unavailable':
        unavailable = true;
        failure ??= result.reason;
        break;
      case 'refused':
        refused = true;
        failure ??= result.reason;
        break;
    }
  }
  const outcome = failure !== undefined ? 'failure' : isPartial ? 'partial' : 'success';
  return {
    outcome: {
      outcome,
      durationMs: performance.now() - startedMs,
      ...tally,
      reason: reasonOf(failure, remark),
    },
    unavailable,
    worthRetrying: failure !== undefined && !refused,
  };
}

/** Why it failed, and what the backend said of that which it took. */
function reasonOf(failure: string | undefined, remark: string): string {
  if (failure === undefined) return remark;
  return remark === '' ? failure : `${failure}; before that: ${remark}`;
}
