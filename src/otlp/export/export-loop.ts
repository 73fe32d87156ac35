/**
 * When the sources are exported: every interval, and those that failed again in between, ever less often. It never keeps
 * the process alive, and it sends nothing itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExportSchedule } from '../otlp-settings.ts';
import { type ExportCycleOptions, exportCycle } from './export-cycle.ts';
import type { ExportSource } from './export-source.ts';
import type { Stop } from './send-requests.ts';
import { createWarmUp } from './warm-up.ts';

export interface ExportLoopOptions
  extends Omit<ExportCycleOptions, 'mustStop' | 'warmUp' | 'begin' | 'onSend' | 'onEnd'> {
  readonly schedule: ExportSchedule;
  /** In [0, 1). */
  readonly random: () => number;
}

type CycleOptions = Pick<ExportCycleOptions, 'mustStop' | 'onExport'>;

type Cycle = (sources: readonly ExportSource[], more: CycleOptions) => Promise<readonly ExportSource[]>;

export interface ExportLoop {
  /** Begins; the first export is one interval from now. */
  start(sources: readonly ExportSource[]): void;
  /**
   * No more exports at their time, and the one under way begins no further request.
   * @returns whether it is over; what is still under way after the deadline cannot be flushed until it is
   */
  stop(deadlineMs: number): Promise<boolean>;
  /**
   * Exports these at once, and those that fail again until the deadline. For after `stop`.
   * @returns those that have not been exported as a whole
   */
  flush(sources: readonly ExportSource[], deadlineMs: number): Promise<readonly ExportSource[]>;
}

/** Of the first wait after a failure; each one after that is twice as long, up to the interval. */
const FIRST_RETRY_MS = 1000;
/** A timer that is set for longer is up at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** At the end there is less time to wait in. */
const FIRST_FLUSH_RETRY_MS = 100;

const STOPPED: Stop = { kind: 'stopped', reason: 'the exports were stopped' };
const TIME_IS_OVER: Stop = { kind: 'given-up', reason: 'the time for this export is over' };

export function createExportLoop(options: ExportLoopOptions): ExportLoop {
  const { intervalMs } = options.schedule;
  const stopping = new AbortController();
  /** Collected and not answered yet: none of them is collected again meanwhile. */
  const underWay = new Set<ExportSource>();
  /** All of them, the one of which nothing was sent for the longest first: where time is short, it is its turn. */
  const turns = new Set<ExportSource>();
  const always = {
    ...options,
    warmUp: createWarmUp(),
    onSend: (source: ExportSource) => turns.delete(source) && turns.add(source),
    onEnd: (source: ExportSource) => underWay.delete(source),
  };
  /** One for each tick; they overlap where a backend leaves some sources waiting. */
  const rounds = new Set<Promise<void>>();
  let running: Promise<void> = Promise.resolve();
  let failures = 0;
  let newestTick = 0;

  const cycle: Cycle = async (sources, more) => {
    const tick = newestTick;
    const begin = (source: ExportSource): boolean => {
      // Whom those that hang kept waiting for longer than an interval belongs to the next tick by now.
      if (underWay.has(source) || tick !== newestTick) return false;
      underWay.add(source);
      return true;
    };
    return exportCycle(sources, { ...always, ...more, begin });
  };

  async function tryOnce(sources: readonly ExportSource[]): Promise<readonly ExportSource[]> {
    // However long it takes: it would begin with the same requests the next time, and the last ones would never arrive.
    const mustStop = () => (stopping.signal.aborted ? STOPPED : undefined);
    const again = await cycle(sources, { mustStop, onExport: options.onExport });
    failures = again.length === 0 ? 0 : failures + 1;
    return again;
  }

  /** These, and those that fail again, ever less often, until the next tick has them all. */
  async function round(sources: readonly ExportSource[], nextMs: number): Promise<void> {
    for (let again = await tryOnce(sources); again.length > 0; again = await tryOnce(again)) {
      const retryMs = performance.now() + retryAfterMs(FIRST_RETRY_MS, failures, options);
      if (retryMs >= nextMs) return;
      await sleepUntil(retryMs, stopping.signal);
      if (stopping.signal.aborted) return;
    }
  }

  async function run(): Promise<void> {
    let tickMs = performance.now() + intervalMs;
    for (;;) {
      await sleepUntil(tickMs, stopping.signal);
      if (stopping.signal.aborted) break;
      tickMs = nextTickMs(tickMs, intervalMs);
      newestTick += 1;
      const begun = round([...turns], tickMs).finally(() => rounds.delete(begun));
      rounds.add(begun);
    }
    await Promise.all(rounds);
  }

  return {
    start(sources) {
      for (const source of sources) turns.add(source);
      running = run();
    },
    async stop(deadlineMs) {
      stopping.abort();
      const isOver = running.then(() => true);
      return within(deadlineMs, isOver, () => false);
    },
    flush: (sources, deadlineMs) => flush(sources, deadlineMs, options, cycle),
  };
}

async function flush(
  sources: readonly ExportSource[],
  deadlineMs: number,
  options: ExportLoopOptions,
  cycle: Cycle,
): Promise<readonly ExportSource[]> {
  const endMs = performance.now() + deadlineMs;
  const left = new Set(sources);
  const more: CycleOptions = {
    mustStop: () => (performance.now() < endMs ? undefined : TIME_IS_OVER),
    onExport(source, outcome) {
      if (outcome.outcome !== 'failure') left.delete(source);
      options.onExport(source, outcome);
    },
  };
  async function tryAgain(): Promise<readonly ExportSource[]> {
    for (let attempts = 1; left.size > 0; attempts += 1) {
      await cycle([...left], more);
      const retryMs = performance.now() + retryAfterMs(FIRST_FLUSH_RETRY_MS, attempts, options);
      if (left.size === 0 || retryMs >= endMs) break;
      await sleepUntil(retryMs, undefined);
    }
    return [...left];
  }
  return within(deadlineMs, tryAgain(), () => [...left]);
}

/** Twice as long after each failure, up to the interval. */
function retryAfterMs(firstMs: number, failures: number, { schedule, random }: ExportLoopOptions): number {
  const fullMs = Math.min(firstMs * 2 ** (failures - 1), schedule.intervalMs);
  // Bridges that lost the same backend are not to come back to it together.
  return fullMs * (0.75 + random() / 4);
}

/** What the promise resolves with; if that takes longer than the deadline, something else. */
async function within<T>(deadlineMs: number, promise: Promise<T>, otherwise: () => T): Promise<T> {
  const inTime = new AbortController();
  const late = delay(Math.min(deadlineMs, TIMER_MAX_MS), undefined, { signal: inTime.signal }).then(
    otherwise,
    // Is only aborted once it is not waited for any more.
    otherwise,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    inTime.abort();
  }
}

/** The next one that is still to come: of those that were missed there is nothing to make up for. */
function nextTickMs(tickMs: number, intervalMs: number): number {
  const missed = Math.floor(Math.max(0, performance.now() - tickMs) / intervalMs);
  return tickMs + (missed + 1) * intervalMs;
}

async function sleepUntil(atMs: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    const waitMs = Math.min(Math.max(0, atMs - performance.now()), TIMER_MAX_MS);
    await delay(waitMs, undefined, { ref: false, signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}
