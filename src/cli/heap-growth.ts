/**
 * Sets how far the heap may grow before V8 collects all garbage: processor time against memory. It changes no other
 * setting, and does not keep the process alive.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

const MIB = 2 ** 20;
/**
 * From `fromBytes` on, the heap may grow by `percent` of what survived the last full collection. By default, V8 lets it
 * grow up to three times as much: to 700 MiB for 150. While the heap is small, such collections would take a twentieth
 * of the processor time; only a flood makes it large.
 */
const GROWTH = [
  { fromBytes: 200 * MIB, percent: 15 },
  { fromBytes: 48 * MIB, percent: 30 },
  { fromBytes: 0, percent: 100 },
] as const;
/** How often the size is checked: a flood fills a hundred megabytes in a second or two. */
const CHECK_MS = 250;

/** @param usedBytes returns the size of the heap and of the buffers that it keeps, including garbage */
export function boundHeapGrowth(usedBytes = heapAndBuffers, setFlags = setFlagsFromString): void {
  let current: number | undefined;
  const choose = () => {
    const used = usedBytes();
    const percent = GROWTH.find(({ fromBytes }) => used >= fromBytes)?.percent;
    // V8 reads the setting at the end of each full collection.
    if (percent !== current) setFlags(`--heap-growing-percent=${percent}`);
    current = percent;
  };
  choose();
  setInterval(choose, CHECK_MS).unref();
}

/** Includes buffers, which V8 counts towards the growth: just after a collection, the heap alone would look small. */
function heapAndBuffers(): number {
  const { used_heap_size: heap, external_memory: buffers } = getHeapStatistics();
  return heap + buffers;
}
