/**
 * Splits collected items (points, spans or log records) into requests that a backend accepts: limited in number, and below the
 * 4 MiB that gRPC servers accept by default. It does not depend on the signal, and sends nothing.
 */

export interface ExportRequest<Data> {
  readonly items: number;
  /**
   * Whether the request may fail without consequences: its items are not counted, it is not retried, and a failure is
   * ignored.
   */
  readonly isOptional?: true;
  /** Built on each call, so that only the request being sent is in memory. */
  data(): Data;
  /** Call it once the request has arrived. */
  acknowledge(): void;
  /** The same items, split into requests of at most `itemsMax` items. */
  parts(itemsMax: number): readonly ExportRequest<Data>[];
}

/** Items that were collected together, for example the points of a metric. */
export interface Collected {
  readonly items: number;
  /** Upper bound of an item’s size in a request, in any encoding. */
  bytesOf(item: number): number;
  /** Acknowledges that the items from `from` to `to` (exclusive) have arrived. */
  acknowledge(from: number, to: number): void;
}

/** A range of collected items that is part of one request. */
export interface Piece<From extends Collected> {
  readonly of: From;
  readonly from: number;
  readonly to: number;
}

/** Below 4 MiB (the Collector’s `max_recv_msg_size_mib`), to leave room for the resource, the scopes and the metadata of metrics. */
const REQUEST_BYTES_MAX = 3.5 * 1024 * 1024;
/** Serialising more items at once would block the event loop for longer than a few milliseconds. */
const REQUEST_ITEMS_MAX = 1000;

export function exportRequests<From extends Collected, Data>(
  collected: readonly From[],
  dataOf: (pieces: readonly Piece<From>[]) => Data,
  itemsMax = REQUEST_ITEMS_MAX,
): readonly ExportRequest<Data>[] {
  const all = collected.map((of) => ({ of, from: 0, to: of.items }));
  return requestsOf(all, dataOf, Math.min(itemsMax, REQUEST_ITEMS_MAX));
}

function requestsOf<From extends Collected, Data>(
  all: readonly Piece<From>[],
  dataOf: (pieces: readonly Piece<From>[]) => Data,
  itemsMax: number,
): readonly ExportRequest<Data>[] {
  return cut(all, itemsMax).map((pieces) => ({
    items: pieces.reduce((items, { from, to }) => items + to - from, 0),
    data: () => dataOf(pieces),
    acknowledge() {
      for (const { of, from, to } of pieces) of.acknowledge(from, to);
    },
    parts: (fewer) => requestsOf(pieces, dataOf, fewer),
  }));
}

function cut<From extends Collected>(
  all: readonly Piece<From>[],
  itemsMax: number,
): readonly (readonly Piece<From>[])[] {
  const requests: { of: From; from: number; to: number }[][] = [];
  let room = { items: 0, bytes: 0 };
  for (const { of, from, to } of all) {
    let piece: { of: From; from: number; to: number } | undefined;
    for (let item = from; item < to; item += 1) {
      const bytes = of.bytesOf(item);
      if (room.items < 1 || room.bytes < bytes || requests.length === 0) {
        requests.push([]);
        room = { items: itemsMax, bytes: REQUEST_BYTES_MAX };
        piece = undefined;
      }
      if (piece === undefined) {
        piece = { of, from: item, to: item };
        requests.at(-1)?.push(piece);
      }
      piece.to = item + 1;
      room.items -= 1;
      room.bytes -= bytes;
    }
  }
  return requests;
}
