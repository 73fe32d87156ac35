/**
 * Exports one source, request by request, and returns the outcome. Data that did not arrive stays with the source. The loops
 * decide whether and when to retry.
 */

import type { ExportRequest } from './export-request.ts';
import { type Backend, nothingSent, type Sent, sendRequests } from './send-requests.ts';

export interface ExportSource<Data> {
  readonly name: string;
  /** Collects the data to export now, split into requests. */
  collect(): Promise<readonly ExportRequest<Data>[]>;
}

export interface ExportOutcome {
  /** `partial`: the backend returned a partial success. */
  readonly outcome: 'success' | 'partial' | 'failure';
  readonly durationMs: number;
  /** The part of the duration spent waiting for the backend, ms. */
  readonly waitedMs: number;
  /** How many items arrived, including rejected ones. */
  readonly items: number;
  readonly rejectedItems: number;
  /** The message of the backend, or why the export failed; '' if there is neither. */
  readonly reason: string;
}

export async function exportSource<Data>(source: ExportSource<Data>, backend: Backend<Data>) {
  const startedMs = performance.now();
  const stop = backend.mustStop();
  const sent =
    stop === undefined ? await sendRequests(await source.collect(), backend) : nothingSent<Data>(stop);
  const outcome = outcomeOf(sent);
  return {
    /** Undefined if the loop was stopped before anything arrived. The flush then reports an outcome. */
    outcome: outcome && { durationMs: performance.now() - startedMs, ...outcome },
    /** Whether the backend did not respond, or requested a later retry. */
    unavailable: sent.stop?.kind === 'unavailable',
    /** Whether every request got a response, so that the backend refused all items that did not arrive. */
    isAnswered: sent.stop === undefined,
    /** Whether a retry may succeed. False if the backend refused a request. */
    worthRetrying: sent.stop !== undefined && sent.refused.length === 0,
  };
}

function outcomeOf({
  items,
  rejectedItems,
  waitedMs,
  remarks,
  refused,
  stop,
}: Sent<unknown>): Omit<ExportOutcome, 'durationMs'> | undefined {
  const isStopped = stop?.kind === 'stopped';
  if (isStopped && items === 0 && refused.length === 0) return undefined;
  const remark = remarks.find((each) => each !== '') ?? '';
  const failure = refused[0]?.reason ?? (isStopped ? undefined : stop?.reason);
  if (failure === undefined) {
    const outcome = remarks.length > 0 ? 'partial' : 'success';
    return { outcome, items, rejectedItems, waitedMs, reason: remark };
  }
  // The reason of the failure, with the message of an earlier partial success.
  const reason = remark === '' ? failure : `${failure}; before that: ${remark}`;
  return { outcome: 'failure', items, rejectedItems, waitedMs, reason };
}
