/**
 * Items that were taken from the queue to be sent together. It makes requests of them, and records which have been sent or
 * dropped. It sends nothing. Pure.
 */
import type { BatchQueue, Taken } from './batch-queue.ts';
import { type Collected, type ExportRequest, exportRequests, type Piece } from './export-request.ts';

/** Items of one source. */
export interface ItemsOf<Source, Item> {
  readonly source: Source;
  readonly items: readonly Item[];
}

export interface BatchOptions<Source, Item, Data> {
  readonly queue: BatchQueue<Source, Item>;
  readonly batchMax: number;
  /** Upper bound of an item’s size in a request. @param bytes its size in the queue */
  readonly requestBytesOf: (item: Item, bytes: number) => number;
  readonly dataOf: (items: readonly ItemsOf<Source, Item>[]) => Data;
}

/** The items of a batch that are from one source. */
interface Group<Source, Item> extends Collected {
  readonly taken: Taken<Source, Item>;
  /** For each item: whether it has neither arrived nor been dropped. */
  readonly isPending: readonly boolean[];
}

export class Batch<Source, Item, Data> {
  readonly #options: BatchOptions<Source, Item, Data>;
  #groups: readonly Group<Source, Item>[] = [];
  #pending = 0;

  constructor(options: BatchOptions<Source, Item, Data>) {
    this.#options = options;
  }

  /** How many items of the batch are neither sent nor dropped. */
  get pending(): number {
    return this.#pending;
  }

  /** Takes items from the queue, unless earlier ones are neither sent nor dropped. */
  fill(itemsMax = this.#options.batchMax): void {
    if (this.#pending > 0) return;
    const taken = this.#options.queue.take(itemsMax);
    this.#groups = taken.map((each) => this.#group(each));
    this.#pending = taken.reduce((sum, { items }) => sum + items.length, 0);
  }

  /** Makes requests from the remaining items. */
  requests(): readonly ExportRequest<Data>[] {
    this.#groups = this.#groups.map(({ taken, isPending }) =>
      this.#group({
        line: taken.line,
        items: taken.items.filter((_, index) => isPending[index]),
        sizes: taken.sizes.filter((_, index) => isPending[index]),
      }),
    );
    const { dataOf, batchMax } = this.#options;
    return exportRequests(this.#groups, (pieces) => dataOf(pieces.map(itemsOf)), batchMax);
  }

  /** Drops the remaining items. */
  drop(onDrop: (source: Source) => void): void {
    for (const { taken, isPending, acknowledge } of this.#groups) {
      for (const [index, is] of isPending.entries()) {
        if (!is) continue;
        acknowledge(index, index + 1);
        onDrop(taken.line.source);
      }
    }
  }

  #group(taken: Taken<Source, Item>): Group<Source, Item> {
    const { queue, requestBytesOf } = this.#options;
    const isPending = taken.items.map(() => true);
    return {
      taken,
      isPending,
      items: taken.items.length,
      bytesOf(index) {
        const item = taken.items[index];
        return item === undefined ? 0 : requestBytesOf(item, taken.sizes[index] ?? 0);
      },
      acknowledge: (from, to) => {
        for (let index = from; index < to; index += 1) {
          // The item was already dropped, because the time was up.
          if (isPending[index] !== true) continue;
          isPending[index] = false;
          this.#pending -= 1;
          queue.release(taken.line, taken.sizes[index] ?? 0);
        }
      },
    };
  }
}

function itemsOf<Source, Item>({ of: { taken }, from, to }: Piece<Group<Source, Item>>) {
  return { source: taken.line.source, items: taken.items.slice(from, to) };
}
