/**
 * Spans or log records of all services that wait to be sent, or are being sent: one queue, bounded in number and in bytes.
 * It sends nothing. Pure.
 *
 * When it is full, a new item is dropped. But a service that holds less than its share, which is the bound divided by the
 * number of services, pushes out the newest item of the one that holds most: so a flood costs only the service that it comes
 * from, and as long as others are quiet, one service may use all of the queue.
 */

export interface Amount {
  items: number;
  bytes: number;
}

/** What one service has in the queue. */
export interface Line<Source, Item> {
  readonly source: Source;
  readonly waiting: Item[];
  /** Of each that waits, bytes. */
  readonly sizes: number[];
  /** Waiting or being sent. */
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
  /** An item was dropped, since the queue is full. */
  readonly onFull: (source: Source) => void;
}

export class BatchQueue<Source, Item> {
  readonly #options: BatchQueueOptions<Source, Item>;
  readonly #lines: Line<Source, Item>[] = [];
  readonly #held: Amount = { items: 0, bytes: 0 };
  #waiting = 0;

  constructor(options: BatchQueueOptions<Source, Item>) {
    this.#options = options;
  }

  /** Not taken yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Waiting or being sent. */
  get held(): Readonly<Amount> {
    return { ...this.#held };
  }

  /** A place for the items of one more service. */
  open(source: Source): Line<Source, Item> {
    const line = { source, waiting: [], sizes: [], held: { items: 0, bytes: 0 } };
    this.#lines.push(line);
    return line;
  }

  /** Drops it, or another one, if the queue is full. */
  add(line: Line<Source, Item>, item: Item): void {
    const bytes = this.#options.bytesOf(item);
    if (this.#isFull(bytes)) this.#makeRoom(line, bytes);
    if (this.#isFull(bytes)) {
      this.#options.onFull(line.source);
      return;
    }
    line.waiting.push(item);
    line.sizes.push(bytes);
    this.#waiting += 1;
    this.#count(line, 1, bytes);
  }

  /** At most so many, the oldest of each service. They are held until they are released. */
  take(itemsMax: number): readonly Taken<Source, Item>[] {
    // The shortest first: what it leaves of its part goes to the others.
    const waiting = this.#lines
      .filter((line) => line.waiting.length > 0)
      .sort((one, other) => one.waiting.length - other.waiting.length);
    let room = Math.min(itemsMax, this.#waiting);
    return waiting.flatMap((line, index) => {
      const items = line.waiting.splice(0, Math.ceil(room / (waiting.length - index)));
      const sizes = line.sizes.splice(0, items.length);
      room -= items.length;
      this.#waiting -= items.length;
      return items.length === 0 ? [] : [{ line, items, sizes }];
    });
  }

  /** An item that was taken has arrived, or was dropped. @param bytes its size */
  release(line: Line<Source, Item>, bytes: number): void {
    this.#count(line, -1, -bytes);
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
      const of = this.#held.items < this.#options.itemsMax ? 'bytes' : 'items';
      const most = this.#beyond(share[of], of);
      if (most === undefined) return;
      most.waiting.pop();
      this.#waiting -= 1;
      this.release(most, most.sizes.pop() ?? 0);
      this.#options.onFull(most.source);
    }
  }

  /** Of the lines with more than that, the one with most. */
  #beyond(share: number, of: keyof Amount): Line<Source, Item> | undefined {
    let most: Line<Source, Item> | undefined;
    for (const line of this.#lines) {
      if (line.waiting.length > 0 && line.held[of] > (most?.held[of] ?? share)) most = line;
    }
    return most;
  }

  #count(line: Line<Source, Item>, items: number, bytes: number): void {
    line.held.items += items;
    line.held.bytes += bytes;
    this.#held.items += items;
    this.#held.bytes += bytes;
  }
}
