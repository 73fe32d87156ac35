/**
 * Exports one source, request by request, and returns the outcome. What did not arrive stays with the source. Whether and
 * when to retry is decided elsewhere.
 */

import type { ExportRequest } from './export-request.ts';
import { type Backend, nothingSent, type Sent, sendRequests } from './send-requests.ts';

export interface ExportSource<Data> {
  readonly name: string;
  /** Collects what is to be exported now, split into requests. */
  collect(): Promise<readonly ExportRequest<Data>[]>;
}

export interface ExportOutcome {
  /** `partial`: the backend returned a partial success. */
  readonly outcome: 'success' | 'partial' | 'failure';
  readonly durationMs: number;
  /** The part of it spent waiting for the backend, ms. */
  readonly waitedMs: number;
  /** Items that arrived, rejected ones included. */
  readonly items: number;
  readonly rejectedItems: number;
  /** The backend’s message, or why it failed; '' if all is well. */
  readonly reason: string;
}

export async function exportSource<Data>(source: ExportSource<Data>, backend: Backend<Data>) {
  const startedMs = performance.now();
  const stop = backend.mustStop();
  const sent =
    stop === undefined ? await sendRequests(await source.collect(), backend) : nothingSent<Data>(stop);
  const outcome = outcomeOf(sent);
  return {
    /** Undefined if the loop was stopped before anything arrived: the flush reports the outcome. */
    outcome: outcome && { durationMs: performance.now() - startedMs, ...outcome },
    /** Whether the backend did not respond, or requested a later retry. */
    unavailable: sent.stop?.kind === 'unavailable',
    /** Whether every request got a response: the backend refused what has not arrived. */
    isAnswered: sent.stop === undefined,
    /** Whether a retry may succeed. Not if the backend refused a request. */
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
  const remark = remarks.find((said) => said !== '') ?? '';
  const failure = refused[0]?.reason ?? (isStopped ? undefined : stop?.reason);
  if (failure === undefined) {
    const outcome = remarks.length > 0 ? 'partial' : 'success';
    return { outcome, items, rejectedItems, waitedMs, reason: remark };
  }
  // Why it failed, and the message of the partial success before that.
  const reason = remark === '' ? failure : `${failure}; before that: ${remark}`;
  return { outcome: 'failure', items, rejectedItems, waitedMs, reason };
}
