/**
 * The queue of spans or log records of all services that wait to be sent or are being sent. It is bounded in number and in
 * bytes. It sends nothing. Pure.
 *
 * If the queue is full, a new item is dropped. But if its service holds less than its share (the bound divided by the number of
 * services), the newest item of the service that holds the most, in items or bytes, is dropped instead. So a flood costs items only of the service that
 * causes it, and one service can use the whole queue while others are quiet.
 */

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
  /** Called for each item that is dropped because the queue is full. */
  readonly onDropped: (source: Source) => void;
}

export class BatchQueue<Source, Item> {
  readonly #options: BatchQueueOptions<Source, Item>;
  readonly #lines: Line<Source, Item>[] = [];
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
    const line = { source, waiting: [], sizes: [], held: { items: 0, bytes: 0 } };
    this.#lines.push(line);
    return line;
  }

  /** Adds an item. If the queue is full, drops this item or another one. */
  add(line: Line<Source, Item>, item: Item): void {
    const bytes = this.#options.bytesOf(item);
    if (this.#isFull(bytes)) this.#makeRoom(line, bytes);
    if (this.#isFull(bytes)) {
      this.#options.onDropped(line.source);
      return;
    }
    line.waiting.push(item);
    line.sizes.push(bytes);
    this.#waiting += 1;
    this.#addHeld(line, 1, bytes);
  }

  /** Takes up to `batchItemsMax` items, the oldest of each service. They count as held until they are released. */
  take(batchItemsMax: number): readonly Taken<Source, Item>[] {
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
      most.waiting.pop();
      this.#waiting -= 1;
      this.release(most, most.sizes.pop() ?? 0);
      this.#options.onDropped(most.source);
    }
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
