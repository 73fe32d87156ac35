/**
 * Sets how far the heap may grow before V8 collects all of it: processor time against memory. It changes no other setting,
 * and does not keep the process alive.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const MIB = 2 ** 20;
/**
 * From this size of the heap on, it may grow by that much of what survived the last full collection. V8’s own choice is up
 * to three times as much: 700 MiB for 150. While it is small, collections would take a twentieth of the processor time; only
 * a flood makes it large.
 */
const GROWTH = [
  { fromBytes: 200 * MIB, percent: 15 },
  { fromBytes: 48 * MIB, percent: 30 },
  { fromBytes: 0, percent: 100 },
] as const;
/** A flood fills a hundred megabytes in a second or two. */
const CHECK_MS = 250;

/** @param usedBytes the size of the heap and of the buffers that it keeps, garbage included */
export function boundHeapGrowth(usedBytes = heapAndBuffers, setFlags = setFlagsFromString): void {
  let current: number | undefined;
  const choose = () => {
    const used = usedBytes();
    const percent = GROWTH.find(({ fromBytes }) => used >= fromBytes)?.percent;
    // V8 reads it at the end of each full collection.
    if (percent !== current) setFlags(`--heap-growing-percent=${percent}`);
    current = percent;
  };
  choose();
  setInterval(choose, CHECK_MS).unref();
}

/** V8 counts buffers towards the growth, too. Just after a collection, the heap alone would look small. */
function heapAndBuffers(): number {
  const { used_heap_size: heap, external_memory: buffers } = getHeapStatistics();
  return heap + buffers;
}
