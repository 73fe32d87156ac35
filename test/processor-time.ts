/**
 * Measures work in processor time of this thread, in ms of a normal machine, which has cores of 3 GHz: time of other processes
 * and threads is not counted, and what a slow or busy machine takes longer for everything cancels out.
 */

const NORMAL_MS = 8;
const ROUNDS = 100;
/** Before, the engine has not compiled it. */
const WARM_UP_ROUNDS = 300;
const TEXT = JSON.stringify(
  Array.from({ length: 200 }, (_, index) => ({
    ...{
      uuid: `u${index}-0000-4000`,
      name: `shop.task_${index % 20}`,
      hostname: `celery@worker-${index % 7}`,
    },
    ...{ timestamp: 1.5 * index, args: [index, index + 1, null, true] },
  })),
);
/** A millisecond on a normal machine, four times a second. */
const SAMPLE_SHARE = 0.1;
const SAMPLE_INTERVAL_MS = 250;
let isWarm = false;

/** @returns ms of this machine */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** What decoding and counting consist of: JSON, a map, a pattern. */
function yardstick(rounds: number): number {
  let found = 0;
  for (let round = 0; round < rounds; round += 1) {
    const rows = new Map<string, unknown>();
    for (const row of JSON.parse(TEXT)) rows.set(row.uuid + row.name, row);
    for (const key of rows.keys()) if (/_(\d+)$/u.test(key)) found += 1;
  }
  return found;
}

function warmUp(): void {
  if (!isWarm) yardstick(WARM_UP_ROUNDS);
  isWarm = true;
}

/** How many times as long as on a normal machine this thread takes now; at least 1: no bound is stricter on a fast one. */
export function slowness(): number {
  warmUp();
  return Math.max(1, processorMs(() => yardstick(ROUNDS)) / NORMAL_MS);
}

/**
 * Finds out all the time how slow the machine is, with little work, and keeps no event loop busy.
 * @returns gives how many times as long it took since it was last called; at least 1
 */
export function watchSlowness(): () => number {
  warmUp();
  let samples: number[] = [];
  // So short that it is rarely preempted, and too short for the clock of the processor time of some systems.
  const once = (): number => {
    const fromMs = performance.now();
    yardstick(ROUNDS * SAMPLE_SHARE);
    return (performance.now() - fromMs) / (NORMAL_MS * SAMPLE_SHARE);
  };
  // At the first, the caches are those of others.
  const sample = (): void => {
    samples.push(Math.min(once(), once()));
  };
  setInterval(sample, SAMPLE_INTERVAL_MS).unref();
  return () => {
    sample();
    const median = samples.sort((one, other) => one - other)[samples.length >> 1] ?? 1;
    samples = [];
    return Math.max(1, median);
  };
}

/** @returns what the work took, in ms of a normal machine */
export function normalMs(work: () => void): number {
  const before = slowness();
  const ms = processorMs(work);
  return ms / Math.max(before, slowness());
}

/**
 * The least of up to three measurements, in ms, or the first one that is below `enough`. The work is the same each time, so
 * that only others can make one longer than another.
 */
export async function leastMs(enough: number, measure: () => number | Promise<number>): Promise<number> {
  let least = await measure();
  for (let more = 0; more < 2 && least >= enough; more += 1) least = Math.min(least, await measure());
  return least;
}
