/**
 * Imported into the process of a bridge before anything else: on SIGUSR2 it tells what the event loop of that process did
 * since the last time. It keeps no turn from waiting for events.
 */
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';

/** What is written, on one line. */
export interface ToldTurns {
  /** Of the longest turn, in processor time of its thread, ms. */
  readonly longestMs: number;
  /**
   * The same of turns in which the engine made a full collection of garbage: how long those take is for the size of the heap
   * to say, and for others on the machine who keep the collector's threads from helping.
   */
  readonly longestCollectingMs: number;
  /**
   * Again and again: when (epoch), and for how long the thread had run or had had nothing to do by then. What other processes
   * took of its core is not counted.
   */
  readonly own: readonly (readonly [atMs: number, ownMs: number])[];
}

interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
  readonly cpuMs: number;
}

/** Shorter turns are of no interest. */
const LONG_MS = 10;
const SAMPLE_MS = 100;

let turns: Turn[] = [];
let collections: PerformanceEntry[] = [];
let own: [number, number][] = [];
let fromMs = performance.now();
let from = process.threadCpuUsage();

const cpuMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

function watch(): void {
  const turn = { fromMs, toMs: performance.now(), cpuMs: cpuMs(process.threadCpuUsage(from)) };
  if (turn.cpuMs > LONG_MS) turns.push(turn);
  fromMs = performance.now();
  from = process.threadCpuUsage();
  // Is run in each turn, but makes none.
  setImmediate(watch).unref();
}

function sample(): void {
  own.push([Date.now(), cpuMs(process.threadCpuUsage()) + performance.eventLoopUtilization().idle]);
}

function isCollecting(turn: Turn): boolean {
  return collections.some(
    ({ startTime, duration }) => startTime < turn.toMs && startTime + duration > turn.fromMs,
  );
}

function tell(): void {
  sample();
  const longest = (of: readonly Turn[]): number => Math.max(0, ...of.map((turn) => turn.cpuMs));
  const told: ToldTurns = {
    longestMs: longest(turns.filter((turn) => !isCollecting(turn))),
    longestCollectingMs: longest(turns.filter(isCollecting)),
    own,
  };
  process.stderr.write(`${JSON.stringify(told)}\n`);
  [turns, collections, own] = [[], [], []];
}

watch();
setInterval(sample, SAMPLE_MS).unref();
new PerformanceObserver((list) => {
  const isFull = (entry: PerformanceEntry): boolean =>
    Object(Reflect.get(entry, 'detail')).kind === constants.NODE_PERFORMANCE_GC_MAJOR;
  collections.push(...list.getEntries().filter(isFull));
}).observe({ entryTypes: ['gc'] });
// What the observer has not heard of yet it hears of before.
process.on('SIGUSR2', () => setTimeout(tell, SAMPLE_MS));
