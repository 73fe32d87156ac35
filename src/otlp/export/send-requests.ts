/**
 * Sends requests one after the other, and refused ones again in smaller parts. It returns what the backend answered; what
 * that means for the export is decided elsewhere.
 */
import type { Exporter } from '../send/exporter.ts';
import type { ExportRequest } from './export-request.ts';
import type { WarmUp } from './warm-up.ts';

/** Why no more requests may be sent. `stopped`: the flush will send the rest and report it. */
export interface Stop {
  readonly kind: 'given-up' | 'stopped';
  readonly reason: string;
}

export interface Backend<Data> {
  readonly exporter: Pick<Exporter<Data>, 'export'>;
  /** Why no more requests may be sent, if so. Asked before each request. */
  readonly mustStop: () => Stop | undefined;
  /** Awaited before each request. */
  readonly warmUp?: WarmUp<Data>;
}

export interface Sent<Data> {
  /** Items that arrived, rejected ones included. */
  items: number;
  rejectedItems: number;
  /** Spent waiting for answers while the event loop was idle, ms. */
  waitedMs: number;
  /** The message of each partial success; '' if it has none. */
  readonly remarks: string[];
  /** Without those that were sent again in parts. */
  refused: readonly Refused<Data>[];
  /** Why the rest was not sent. */
  stop: Stop | { readonly kind: 'unavailable'; readonly reason: string } | undefined;
}

interface Refused<Data> {
  readonly request: ExportRequest<Data>;
  readonly reason: string;
}

/** Into how many parts a refused request is split. */
const PARTS = 4;
/** Such parts per export, at most. Enough to find the one item among 1000 that the backend refuses. */
const PARTS_MAX = 32;

export function nothingSent<Data>(stop?: Sent<Data>['stop']): Sent<Data> {
  return { items: 0, rejectedItems: 0, waitedMs: 0, remarks: [], refused: [], stop };
}

export async function sendRequests<Data>(
  requests: readonly ExportRequest<Data>[],
  backend: Backend<Data>,
): Promise<Sent<Data>> {
  const sent = nothingSent<Data>();
  await sendEach(requests, backend, sent);
  for (let partsLeft = PARTS_MAX; sent.stop === undefined; ) {
    // If nothing was accepted, only one request is split, to see whether a smaller one is.
    const most = sent.items > 0 ? Math.floor(partsLeft / PARTS) : partsLeft === PARTS_MAX ? 1 : 0;
    const split = sent.refused.filter(({ request }) => request.items > 1).slice(0, most);
    if (split.length === 0) break;
    partsLeft -= split.length * PARTS;
    sent.refused = sent.refused.filter((each) => !split.includes(each));
    await sendEach(split.flatMap(partsOf), backend, sent);
  }
  return sent;
}

function partsOf<Data>({ request }: Refused<Data>): readonly ExportRequest<Data>[] {
  return request.parts(Math.ceil(request.items / PARTS));
}

async function sendEach<Data>(
  requests: readonly ExportRequest<Data>[],
  { exporter, mustStop, warmUp }: Backend<Data>,
  sent: Sent<Data>,
): Promise<void> {
  for (const request of requests) {
    await warmUp?.(request);
    const stop = mustStop();
    if (stop !== undefined) {
      sent.stop = stop;
      return;
    }
    const idleBeforeMs = idleMs();
    const result = await exporter.export(request.data());
    sent.waitedMs += idleMs() - idleBeforeMs;
    switch (result.kind) {
      case 'unavailable':
        sent.stop = result;
        return;
      case 'refused':
        sent.refused = [...sent.refused, { request, reason: result.reason }];
        break;
      case 'partial':
        sent.rejectedItems += result.rejectedItems;
        sent.remarks.push(result.message);
        sent.items += request.items;
        request.exported();
        break;
      case 'success':
        sent.items += request.items;
        request.exported();
        break;
    }
  }
}

/** How long the event loop was idle. While it is busy, an answer may lie unread: that is not the backend’s time. */
function idleMs(): number {
  return performance.eventLoopUtilization().idle;
}
