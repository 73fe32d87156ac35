/**
 * Sends requests one after the other, and resends refused ones in smaller parts. It returns how the backend responded, and does
 * not decide what that means for the export.
 */
import type { Exporter } from '../send/exporter.ts';
import type { ExportRequest } from './export-request.ts';
import type { WarmUp } from './warm-up.ts';

/** Why no more requests may be sent. `stopped`: the flush will send the rest and report the outcome. */
export interface Stop {
  readonly kind: 'given-up' | 'stopped';
  readonly reason: string;
}

export interface Backend<Data> {
  readonly exporter: Pick<Exporter<Data>, 'export'>;
  /** Called before each request. Returns why no more requests may be sent; undefined if they may. */
  readonly mustStop: () => Stop | undefined;
  /** Awaited before each request. */
  readonly warmUp?: WarmUp<Data>;
}

export interface Sent<Data> {
  /** How many items arrived, including rejected ones. */
  items: number;
  rejectedItems: number;
  /** Time spent waiting for responses while the event loop was idle, ms. */
  waitedMs: number;
  /** The message of each partial success; '' for one without a message. */
  readonly remarks: string[];
  /** Refused requests, except those that were resent in parts. */
  refused: readonly Refused<Data>[];
  /** Why the rest was not sent. */
  stop: Stop | { readonly kind: 'unavailable'; readonly reason: string } | undefined;
}

interface Refused<Data> {
  readonly request: ExportRequest<Data>;
  readonly reason: string;
}

/** Minimum number of parts into which a refused request is split. */
const PARTS = 4;
/** Maximum number of parts per export. Enough to send 3000 items if 100 are too many, and to find one item that is refused. */
const PARTS_MAX = 64;
/** How often a part is split again as long as every part is refused. It bounds the requests to a backend that refuses everything. */
const SEARCHES_MAX = 3;

export function nothingSent<Data>(stop?: Sent<Data>['stop']): Sent<Data> {
  return { items: 0, rejectedItems: 0, waitedMs: 0, remarks: [], refused: [], stop };
}

export async function sendRequests<Data>(
  requests: readonly ExportRequest<Data>[],
  backend: Backend<Data>,
): Promise<Sent<Data>> {
  const sent = nothingSent<Data>();
  await sendEach(requests, backend, sent);
  /** The number of items in the largest accepted part. */
  let accepted = 0;
  for (let [round, partsLeft] = [0, PARTS_MAX]; sent.stop === undefined; round += 1) {
    const split = toSplit(sent, accepted, round);
    const parts = split.flatMap((each) => partsOf(each, accepted));
    const sending = parts.slice(0, partsLeft);
    if (sending.length === 0) break;
    partsLeft -= sending.length;
    const kept = sent.refused.filter((each) => !split.includes(each));
    sent.refused = [...kept, ...parts.slice(sending.length)];
    const requests = sending.map(({ request }) => request);
    accepted = Math.max(accepted, await sendEach(requests, backend, sent));
  }
  return sent;
}

/** Selects the requests to split. Until a part is accepted, only one request is split, then one of its parts, and so on. */
function toSplit<Data>({ refused, items }: Sent<Data>, accepted: number, round: number) {
  const large = refused.filter(({ request }) => request.items > 1);
  if (accepted > 0) return large;
  if (round >= SEARCHES_MAX) return items > 0 ? large : [];
  return round === 0 ? large.slice(0, 1) : large.slice(-1);
}

/** @param accepted the number of items in the largest accepted part; 0 if none was accepted */
function partsOf<Data>({ request, reason }: Refused<Data>, accepted: number): readonly Refused<Data>[] {
  const itemsMax = Math.ceil(request.items / PARTS);
  const parts = request.parts(accepted > 0 ? Math.min(accepted, itemsMax) : itemsMax);
  return parts.map((part) => ({ request: part, reason }));
}

/** @returns the number of items in the largest accepted request; 0 if none was accepted */
async function sendEach<Data>(
  requests: readonly ExportRequest<Data>[],
  { exporter, mustStop, warmUp }: Backend<Data>,
  sent: Sent<Data>,
): Promise<number> {
  let accepted = 0;
  for (const request of requests) {
    await warmUp?.(request);
    const stop = mustStop();
    if (stop !== undefined) {
      sent.stop = stop;
      return accepted;
    }
    const idleBeforeMs = idleMs();
    const result = await exporter.export(request.data());
    sent.waitedMs += idleMs() - idleBeforeMs;
    if (request.isOptional) {
      if (result.kind === 'unavailable') return accepted;
      request.acknowledge();
      continue;
    }
    switch (result.kind) {
      case 'unavailable':
        sent.stop = result;
        return accepted;
      case 'refused':
        sent.refused = [...sent.refused, { request, reason: result.reason }];
        continue;
      case 'partial':
        // A backend cannot reject more items than were sent.
        sent.rejectedItems += Math.min(result.rejectedItems, request.items);
        sent.remarks.push(result.message);
        break;
      case 'success':
        break;
    }
    accepted = Math.max(accepted, request.items);
    sent.items += request.items;
    request.acknowledge();
  }
  return accepted;
}

/** Total idle time of the event loop, ms. Busy time is not counted as waiting, because a response may be there unread. */
function idleMs(): number {
  return performance.eventLoopUtilization().idle;
}
