/**
 * Exports the spans, or the log records, of all services to one backend, with one queue, one exporter and one loop. It
 * reports exports and drops. It makes no items, and does not depend on their type.
 */
import type { Resource } from '@opentelemetry/resources';
import type { YieldToLoop } from '../timing/cooperative.ts';
import { type EndedExport, openBackend } from './backend.ts';
import type { Resourced } from './encode/otlp-request.ts';
import { BatchLoop } from './export/batch-loop.ts';
import { BatchQueue } from './export/batch-queue.ts';
import { createDropTally, type DropTally, type ReportDropped } from './export/drop-tally.ts';
import type { BatchSettings, ExporterSettings } from './otlp-settings.ts';
import type { ItemSignal } from './signals.ts';

export interface BatchExportOptions {
  /** Called after each attempt to send a batch, which may contain items of several services. */
  readonly onExport: (ended: EndedExport) => void;
  /**
   * Called at most once a second with the dropped items of a service. Items that the backend rejected in a partial
   * success are not included.
   */
  readonly onDrop: ReportDropped;
  /** Called after an internal error. Everything else continues. */
  readonly onDefect: (reason: unknown) => void;
  /** Returns a number in [0, 1), for the jitter of retries. */
  readonly random: () => number;
  /** Awaited before each request is encoded. */
  readonly yieldToLoop: YieldToLoop;
}

/** The entry of one service’s items. */
export interface BatchedService<Item> {
  /** Never blocks; drops the item if the queue is full. */
  add(item: Item): void;
}

export type BatchExport<Item> = ReturnType<typeof createBatchExport<Item>>;

interface Source {
  readonly name: string;
  readonly resource: Resource;
}

/** Enough for the default queue size even if spans are four times as large as usual. */
const QUEUE_BYTES_MAX = 32 * 1024 * 1024;

/**
 * @throws CeleryOtelError `CONFIG_INVALID`, in the same cases as `createExporter`
 */
export function createBatchExport<Item>(
  kind: ItemSignal<Item>,
  settings: ExporterSettings,
  batch: BatchSettings,
  options: BatchExportOptions,
) {
  const backend = openBackend(kind.signal, settings, {
    timeoutMsMax: batch.exportTimeoutMs,
    yieldToLoop: options.yieldToLoop,
  });
  const drops = createDropTally(options.onDrop);
  const queue = new BatchQueue<Source, Item>({
    itemsMax: batch.maxQueueSize,
    bytesMax: batch.maxQueueBytes ?? QUEUE_BYTES_MAX,
    bytesOf: kind.bytesOf,
    traceOf: kind.traceOf,
    onDropped: ({ name }) => drops.count(name, 'queue_full'),
  });
  const loop = loopOf(kind, batch, { ...options, backend, queue, drops });
  let isClosed = false;
  return {
    observe: backend.observe,
    start: () => loop.start(),
    /** How many items wait or are being sent, and their approximate bytes in memory. */
    held: () => queue.held,
    /** @param name for events and logs; not exported */
    open(name: string, resource: Resource): BatchedService<Item> {
      const line = queue.open({ name, resource });
      return {
        add(item) {
          if (isClosed) {
            drops.count(name, 'stopped');
            return;
          }
          queue.add(line, item);
          loop.noteAdded();
        },
      };
    },
    /**
     * Sends the queued items until the deadline, then closes. The remaining items are dropped and reported.
     * @returns the names of the services with dropped items
     */
    async close(deadlineMs: number): Promise<ReadonlySet<string>> {
      isClosed = true;
      const unsent = new Set<string>();
      await loop.close(deadlineMs, ({ name }) => {
        unsent.add(name);
        drops.count(name, 'stopped');
      });
      backend.close();
      drops.reportAll();
      return unsent;
    },
  };
}

interface Parts<Item> extends BatchExportOptions {
  readonly backend: ReturnType<typeof openBackend<readonly Resourced<Item>[]>>;
  readonly queue: BatchQueue<Source, Item>;
  readonly drops: DropTally;
}

function loopOf<Item>(
  { signal, requestBytesOf, byResource = (of) => [of] }: ItemSignal<Item>,
  { maxBatchSize, scheduleDelayMs }: BatchSettings,
  { backend, queue, drops, onExport, onDefect, random }: Parts<Item>,
) {
  return new BatchLoop<Source, Item, readonly Resourced<Item>[]>({
    ...backend.sending,
    queue,
    batchMax: maxBatchSize,
    delayMs: scheduleDelayMs,
    requestBytesOf,
    dataOf: (all) => all.flatMap(({ source: { resource }, items }) => byResource({ resource, items })),
    onExport: (outcome) => onExport(backend.ended(signal.name, outcome)),
    onRefused: ({ name }) => drops.count(name, 'refused'),
    onDefect,
    random,
  });
}
