/**
 * Sends requests one after the other, and refused ones again in smaller parts. It returns what the backend answered; what
 * that means for the export is decided elsewhere.
 */
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Exporter } from '../send/exporter.ts';
import type { ExportRequest } from './export-request.ts';
import type { WarmUp } from './warm-up.ts';

/** Why no more requests may be sent. `stopped`: the flush will send the rest and report it. */
export interface Stop {
  readonly kind: 'given-up' | 'stopped';
  readonly reason: string;
}

export interface Backend {
  readonly exporter: Pick<Exporter<ResourceMetrics>, 'export'>;
  /** Asked before each request. */
  readonly mustStop: () => Stop | undefined;
  readonly warmUp?: WarmUp | undefined;
}

export interface Sent {
  /** Points that arrived, rejected ones included. */
  points: number;
  rejectedPoints: number;
  /** Spent waiting for answers while the event loop was idle, ms. */
  waitedMs: number;
  /** The message of each partial success; '' if it has none. */
  readonly remarks: string[];
  /** Without those that were sent again in parts. */
  refused: readonly Refused[];
  /** Why the rest was not sent. */
  stop: Stop | { readonly kind: 'unavailable'; readonly reason: string } | undefined;
}

interface Refused {
  readonly request: ExportRequest;
  readonly reason: string;
}

/** A refused request is split into so many. */
const PARTS = 4;
/** Such parts per export, at most. Enough to find the one point among 1000 that the backend refuses. */
const PARTS_MAX = 32;

export function nothingSent(stop?: Sent['stop']): Sent {
  return { points: 0, rejectedPoints: 0, waitedMs: 0, remarks: [], refused: [], stop };
}

export async function sendRequests(requests: readonly ExportRequest[], backend: Backend): Promise<Sent> {
  const sent = nothingSent();
  await sendEach(requests, backend, sent);
  for (let partsLeft = PARTS_MAX; sent.stop === undefined; ) {
    // If nothing was accepted, only one request is split, to see whether a smaller one is.
    const most = sent.points > 0 ? Math.floor(partsLeft / PARTS) : partsLeft === PARTS_MAX ? 1 : 0;
    const split = sent.refused.filter(({ request }) => request.points > 1).slice(0, most);
    if (split.length === 0) break;
    partsLeft -= split.length * PARTS;
    sent.refused = sent.refused.filter((each) => !split.includes(each));
    await sendEach(split.flatMap(partsOf), backend, sent);
  }
  return sent;
}

function partsOf({ request }: Refused): readonly ExportRequest[] {
  return request.parts(Math.ceil(request.points / PARTS));
}

async function sendEach(
  requests: readonly ExportRequest[],
  { exporter, mustStop, warmUp }: Backend,
  sent: Sent,
): Promise<void> {
  for (const request of requests) {
    await warmUp?.(request);
    const stop = mustStop();
    if (stop !== undefined) {
      sent.stop = stop;
      return;
    }
    const idleBeforeMs = idleMs();
    const result = await exporter.export(request.metrics());
    sent.waitedMs += idleMs() - idleBeforeMs;
    switch (result.kind) {
      case 'unavailable':
        sent.stop = result;
        return;
      case 'refused':
        sent.refused = [...sent.refused, { request, reason: result.reason }];
        break;
      case 'partial':
        sent.rejectedPoints += result.rejectedPoints;
        sent.remarks.push(result.message);
        sent.points += request.points;
        request.exported();
        break;
      case 'success':
        sent.points += request.points;
        request.exported();
        break;
    }
  }
}

/** How long the event loop was idle. While it is busy, an answer may lie unread: that is not the backend’s time. */
function idleMs(): number {
  return performance.eventLoopUtilization().idle;
}
