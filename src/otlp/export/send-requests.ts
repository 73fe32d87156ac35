/**
 * Sends requests one after the other, and those that are refused once more in parts. What the backend said of them is told;
 * what that means for an export is decided elsewhere.
 */
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Exporter } from '../send/exporter.ts';
import type { ExportRequest } from './export-request.ts';
import type { WarmUp } from './warm-up.ts';

/** `stopped`: what was not sent is left to the flush, which will tell of it. */
export interface Stop {
  readonly kind: 'given-up' | 'stopped';
  readonly reason: string;
}

export interface Backend {
  readonly exporter: Pick<Exporter<ResourceMetrics>, 'export'>;
  /** Asked before each request: why no more are to be sent, if so. */
  readonly mustStop: () => Stop | undefined;
  readonly warmUp?: WarmUp | undefined;
}

export interface Sent {
  /** That arrived, those that were rejected included. */
  points: number;
  rejectedPoints: number;
  /** For answers, while nothing else was to be done, ms. */
  waitedMs: number;
  /** Of each partial success; '' where the backend said nothing. */
  readonly remarks: string[];
  /** But for those that were sent in parts after that. */
  refused: readonly Refused[];
  /** Why the rest was not sent. */
  stop: Stop | { readonly kind: 'unavailable'; readonly reason: string } | undefined;
}

interface Refused {
  readonly request: ExportRequest;
  readonly reason: string;
}

/** Of a request that is refused. */
const PARTS = 4;
/** More requests of an export, at most: enough to find the one point among 1000 that the others are refused for. */
const PARTS_MAX = 32;

export function nothingSent(stop?: Sent['stop']): Sent {
  return { points: 0, rejectedPoints: 0, waitedMs: 0, remarks: [], refused: [], stop };
}

export async function sendRequests(requests: readonly ExportRequest[], backend: Backend): Promise<Sent> {
  const sent = nothingSent();
  await sendEach(requests, backend, sent);
  for (let partsLeft = PARTS_MAX; sent.stop === undefined; ) {
    // A backend that takes nothing at all is asked once whether it would take less.
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

/**
 * For how long there has been nothing to do in this process. Where there is, an answer may have come long before it is
 * read: that time is ours, and not the backend’s.
 */
function idleMs(): number {
  return performance.eventLoopUtilization().idle;
}
