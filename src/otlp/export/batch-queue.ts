/**
 * The queue of spans or log records of all services that wait to be sent or are being sent. It is bounded in number and in
 * bytes. It sends nothing. Pure.
 *
 * If the queue is full, a new item is dropped. But if its service holds less than its share (the bound divided by the number of
 * services), the newest item of the service that holds the most, in items or bytes, is dropped instead. So a flood costs items only of the service that
 * causes it, and one service can use the whole queue while others are quiet.
 *
 * Spans are dropped by trace: with a span, all of its trace that waits is dropped, and what follows of it, so that the room goes to
 * whole traces.
 */
import { RecentKeys } from '../../text/recent-keys.ts';

export interface Amount {
  items: number;
  bytes: number;
}

/** The part of the queue that belongs to one service. */
export interface Line<Source, Item> {
  readonly source: Source;
  readonly waiting: Item[];
  /** The size of each waiting item, bytes. */
  readonly sizes: number[];
  /** The items that wait or are being sent, and their bytes. */
  readonly held: Amount;
  /** What waits of each trace. Empty if items are dropped one by one. */
  readonly traces: Map<string, Amount>;
  /** Dropped traces of which items are still in `waiting`, and how many items. They are not held. */
  readonly torn: Set<string>;
  tornItems: number;
}

/** Items of one line that are sent together. */
export interface Taken<Source, Item> {
  readonly line: Line<Source, Item>;
  readonly items: readonly Item[];
  readonly sizes: readonly number[];
}

export interface BatchQueueOptions<Source, Item> {
  readonly itemsMax: number;
  readonly bytesMax: number;
  readonly bytesOf: (item: Item) => number;
  /** The id of the trace of an item; undefined if items are dropped one by one. */
  readonly traceOf?: ((item: Item) => string) | undefined;
  /** Called for each item that is dropped because the queue is full. */
  readonly onDropped: (source: Source) => void;
}

/** How many dropped traces are remembered at least: more of their spans may follow. */
const DROPPED_AT_LEAST = 10_000;
/** Dropped items leave the list of a line once they are so many. */
const TORN_ITEMS_MAX = 1000;

export class BatchQueue<Source, Item> {
  readonly #options: BatchQueueOptions<Source, Item>;
  readonly #lines: Line<Source, Item>[] = [];
  readonly #dropped = new RecentKeys<true>(DROPPED_AT_LEAST);
  readonly #held: Amount = { items: 0, bytes: 0 };
  #waiting = 0;

  constructor(options: BatchQueueOptions<Source, Item>) {
    this.#options = options;
  }

  /** Number of items that have not been taken yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The number and bytes of all items that wait or are being sent. */
  get held(): Readonly<Amount> {
    return { ...this.#held };
  }

  /** Adds a line for one more service. */
  open(source: Source): Line<Source, Item> {
    const held = { items: 0, bytes: 0 };
    const [traces, torn] = [new Map<string, Amount>(), new Set<string>()];
    const line: Line<Source, Item> = { source, waiting: [], sizes: [], held, traces, torn, tornItems: 0 };
    this.#lines.push(line);
    return line;
  }

  /** Adds an item. If the queue is full, drops this item or another one, each with its trace. */
  add(line: Line<Source, Item>, item: Item): void {
    const { bytesOf, traceOf, onDropped } = this.#options;
    const bytes = bytesOf(item);
    const trace = traceOf?.(item);
    const isDropped = trace !== undefined && (line.torn.has(trace) || this.#dropped.get(trace) === true);
    if (!isDropped && this.#isFull(bytes)) this.#makeRoom(line, bytes);
    if (isDropped || this.#isFull(bytes)) {
      if (!isDropped && trace !== undefined) this.#dropTrace(line, trace);
      onDropped(line.source);
      return;
    }
    line.waiting.push(item);
    line.sizes.push(bytes);
    this.#waiting += 1;
    this.#addHeld(line, 1, bytes);
    if (trace !== undefined) addTo(line.traces, trace, 1, bytes);
  }

  /** Takes up to `batchItemsMax` items, the oldest of each service. They count as held until they are released. */
  take(batchItemsMax: number): readonly Taken<Source, Item>[] {
    for (const line of this.#lines) if (line.tornItems > 0) this.#removeTorn(line);
    // The shortest line comes first, so that the part of its share of the batch that it cannot fill goes to the others.
    const waiting = this.#lines
      .filter((line) => line.waiting.length > 0)
      .sort((one, other) => one.waiting.length - other.waiting.length);
    let room = Math.min(batchItemsMax, this.#waiting);
    return waiting.flatMap((line, index) => {
      const items = line.waiting.splice(0, Math.ceil(room / (waiting.length - index)));
      const sizes = line.sizes.splice(0, items.length);
      room -= items.length;
      this.#waiting -= items.length;
      this.#countTaken(line, items, sizes);
      return items.length === 0 ? [] : [{ line, items, sizes }];
    });
  }

  /** Releases a taken item, which has arrived or was dropped. @param bytes its size */
  release(line: Line<Source, Item>, bytes: number): void {
    this.#addHeld(line, -1, -bytes);
  }

  #isFull(bytes: number): boolean {
    const { itemsMax, bytesMax } = this.#options;
    return this.#held.items >= itemsMax || this.#held.bytes + bytes > bytesMax;
  }

  #makeRoom(line: Line<Source, Item>, bytes: number): void {
    const share = {
      items: this.#options.itemsMax / this.#lines.length,
      bytes: this.#options.bytesMax / this.#lines.length,
    };
    if (line.held.items + 1 > share.items || line.held.bytes + bytes > share.bytes) return;
    while (this.#isFull(bytes)) {
      const unit = this.#held.items < this.#options.itemsMax ? 'bytes' : 'items';
      const most = this.#largestAbove(share[unit], unit);
      if (most === undefined) return;
      this.#dropNewest(most);
    }
  }

  /** Drops the newest item of a line, with its trace. */
  #dropNewest(line: Line<Source, Item>): void {
    if (line.tornItems > 0) this.#removeTorn(line);
    const newest = line.waiting.at(-1);
    if (newest === undefined) return;
    const trace = this.#options.traceOf?.(newest);
    if (trace !== undefined) {
      this.#dropTrace(line, trace);
      return;
    }
    line.waiting.pop();
    this.#waiting -= 1;
    this.release(line, line.sizes.pop() ?? 0);
    this.#options.onDropped(line.source);
  }

  /** Drops what waits of a trace. Its items leave the list later, many at a time. */
  #dropTrace(line: Line<Source, Item>, trace: string): void {
    this.#dropped.set(trace, true);
    const { items, bytes } = line.traces.get(trace) ?? { items: 0, bytes: 0 };
    if (items === 0) return;
    line.traces.delete(trace);
    line.torn.add(trace);
    line.tornItems += items;
    this.#waiting -= items;
    this.#addHeld(line, -items, -bytes);
    for (let dropped = 0; dropped < items; dropped += 1) this.#options.onDropped(line.source);
    if (line.tornItems > TORN_ITEMS_MAX) this.#removeTorn(line);
  }

  #removeTorn(line: Line<Source, Item>): void {
    const { traceOf } = this.#options;
    if (traceOf === undefined) return;
    const { waiting, sizes, torn } = line;
    let kept = 0;
    for (const [index, item] of waiting.entries()) {
      if (torn.has(traceOf(item))) continue;
      waiting[kept] = item;
      sizes[kept] = sizes[index] ?? 0;
      kept += 1;
    }
    waiting.length = sizes.length = kept;
    torn.clear();
    line.tornItems = 0;
  }

  #countTaken({ traces }: Line<Source, Item>, items: readonly Item[], sizes: readonly number[]): void {
    const { traceOf } = this.#options;
    if (traceOf === undefined) return;
    for (const [index, item] of items.entries()) addTo(traces, traceOf(item), -1, -(sizes[index] ?? 0));
  }

  /** The line that holds the most items or bytes, if these are more than the share. */
  #largestAbove(share: number, unit: keyof Amount): Line<Source, Item> | undefined {
    let most: Line<Source, Item> | undefined;
    for (const line of this.#lines) {
      if (line.waiting.length > 0 && line.held[unit] > (most?.held[unit] ?? share)) most = line;
    }
    return most;
  }

  #addHeld(line: Line<Source, Item>, items: number, bytes: number): void {
    line.held.items += items;
    line.held.bytes += bytes;
    this.#held.items += items;
    this.#held.bytes += bytes;
  }
}

function addTo(traces: Map<string, Amount>, trace: string, items: number, bytes: number): void {
  const amount = traces.get(trace) ?? { items: 0, bytes: 0 };
  amount.items += items;
  amount.bytes += bytes;
  if (amount.items > 0) traces.set(trace, amount);
  else traces.delete(trace);
}
