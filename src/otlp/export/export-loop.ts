/**
 * When the sources are exported: every interval, and those that failed again in between, ever less often. It never keeps
 * the process alive, and it sends nothing itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExportSchedule } from '../otlp-settings.ts';
import { type ExportCycleOptions, exportCycle } from './export-cycle.ts';
import type { ExportSource } from './export-source.ts';

export interface ExportLoopOptions extends Omit<ExportCycleOptions, 'untilMs'> {
  readonly schedule: ExportSchedule;
  /** In [0, 1). */
  readonly random: () => number;
}

export interface ExportLoop {
  /** Begins; the first export is one interval from now. */
  start(sources: readonly ExportSource[]): void;
  /**
   * No more exports at their time, and the one under way begins no further request.
   * @returns whether it is over; if it is not within the deadline, nothing can be flushed
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

export function createExportLoop(options: ExportLoopOptions): ExportLoop {
  const { schedule } = options;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  function cycle(sources: readonly ExportSource[]): Promise<readonly ExportSource[]> {
    const endMs = performance.now() + schedule.timeoutMs;
    return exportCycle(sources, { ...options, untilMs: () => (stopping.signal.aborted ? 0 : endMs) });
  }

  async function run(sources: readonly ExportSource[]): Promise<void> {
    let failed: readonly ExportSource[] = [];
    let failures = 0;
    let turn = 0;
    let tickMs = performance.now() + schedule.intervalMs;
    while (!stopping.signal.aborted) {
      const retryMs =
        failures === 0 ? Infinity : performance.now() + retryAfterMs(FIRST_RETRY_MS, failures, options);
      await sleepUntil(Math.min(tickMs, retryMs), stopping.signal);
      if (stopping.signal.aborted) return;
      // Not by the clock: a timer may be up a little early.
      const isTick = tickMs <= retryMs;
      failed = await cycle(isTick ? rotated(sources, turn) : failed);
      failures = failed.length === 0 ? 0 : failures + 1;
      if (!isTick) continue;
      turn += 1;
      tickMs = nextTickMs(tickMs, schedule.intervalMs);
    }
  }

  return {
    start(sources) {
      running = run(sources);
    },
    async stop(deadlineMs) {
      stopping.abort();
      return within(
        deadlineMs,
        running.then(() => true),
        () => false,
      );
    },
    flush: (sources, deadlineMs) => flush(sources, deadlineMs, options),
  };
}

async function flush(
  sources: readonly ExportSource[],
  deadlineMs: number,
  options: ExportLoopOptions,
): Promise<readonly ExportSource[]> {
  const endMs = performance.now() + deadlineMs;
  const left = new Set(sources);
  const noting: ExportCycleOptions = {
    ...options,
    untilMs: () => endMs,
    onExport(source, outcome) {
      if (outcome.outcome !== 'failure') left.delete(source);
      options.onExport(source, outcome);
    },
  };
  async function tryAgain(): Promise<readonly ExportSource[]> {
    for (let failures = 1; left.size > 0; failures += 1) {
      await exportCycle([...left], noting);
      const retryMs = performance.now() + retryAfterMs(FIRST_FLUSH_RETRY_MS, failures, options);
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
  const first = await Promise.race([promise, late]);
  inTime.abort();
  return first;
}

/** Another one is the first each time: where time is short, it is not always the same that come too late. */
function rotated(sources: readonly ExportSource[], turn: number): readonly ExportSource[] {
  const first = turn % Math.max(1, sources.length);
  return [...sources.slice(first), ...sources.slice(0, first)];
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
