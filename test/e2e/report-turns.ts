/**
 * Preloaded into a bridge process: on SIGUSR2 it reports the longest event loop turns since the last report. It does not
 * keep the event loop busy.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { watchSlowness } from '../processor-time.ts';

/** Written as one line of JSON. */
export interface TurnReport {
  /** The longest turn, in processor time of its thread, ms of a normal machine; with garbage collections in it. */
  readonly longestMs: number;
  /** The longest of those with a full collection. */
  readonly longestCollectingMs: number;
  /**
   * Samples: the time, epoch ms, and how long the thread had run, in ms of a normal machine, or been idle by then, without being
   * preempted.
   */
  readonly own: readonly (readonly [atMs: number, ownMs: number])[];
}

interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
  readonly cpuMs: number;
}

interface Sample {
  readonly atMs: number;
  readonly ranMs: number;
  readonly idleMs: number;
}

/** Shorter turns are ignored. */
const LONG_MS = 10;
const SAMPLE_MS = 100;

let turns: Turn[] = [];
let collections: PerformanceEntry[] = [];
let samples: Sample[] = [];
/** At the last sample of the last report. */
let last = { ranMs: 0, idleMs: 0, ownMs: 0 };
const slownessSince = watchSlowness();
let fromMs = performance.now();
let from = process.threadCpuUsage();

const cpuMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

function watch(): void {
  const turn = { fromMs, toMs: performance.now(), cpuMs: cpuMs(process.threadCpuUsage(from)) };
  if (turn.cpuMs > LONG_MS) turns.push(turn);
  fromMs = performance.now();
  from = process.threadCpuUsage();
  // Runs in each turn, but causes none.
  setImmediate(watch).unref();
}

function sample(): void {
  samples.push({
    ...{ atMs: Date.now(), ranMs: cpuMs(process.threadCpuUsage()) },
    idleMs: performance.eventLoopUtilization().idle,
  });
}

/** @param slower how many times as long as a normal machine this one took */
function ownTimes(slower: number): readonly (readonly [number, number])[] {
  return samples.map(({ atMs, ranMs, idleMs }) => {
    const ownMs = last.ownMs + (ranMs - last.ranMs) / slower + idleMs - last.idleMs;
    last = { ranMs, idleMs, ownMs };
    return [atMs, ownMs] as const;
  });
}

function isCollecting(turn: Turn): boolean {
  return collections.some(
    ({ startTime, duration }) => startTime < turn.toMs && startTime + duration > turn.fromMs,
  );
}

function report(): void {
  sample();
  const slower = slownessSince();
  const longest = (of: readonly Turn[]): number => Math.max(0, ...of.map((turn) => turn.cpuMs)) / slower;
  const turnReport: TurnReport = {
    longestMs: longest(turns),
    longestCollectingMs: longest(turns.filter(isCollecting)),
    own: ownTimes(slower),
  };
  process.stderr.write(`${JSON.stringify(turnReport)}\n`);
  [turns, collections, samples] = [[], [], []];
}

watch();
setInterval(sample, SAMPLE_MS).unref();
new PerformanceObserver((list) => {
  const isFull = (entry: PerformanceEntry): boolean =>
    Object(Reflect.get(entry, 'detail')).kind === constants.NODE_PERFORMANCE_GC_MAJOR;
  collections.push(...list.getEntries().filter(isFull));
}).observe({ entryTypes: ['gc'] });
// Later, so that the observer has seen every collection.
process.on('SIGUSR2', () => setTimeout(report, SAMPLE_MS));
