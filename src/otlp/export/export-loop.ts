/**
 * Schedules exports: every source once per interval, and retries of failed sources in between, with exponential back-off. It
 * never keeps the process alive, and sends nothing itself.
 */
import { Attempts, FIRST_RETRY_MS, STOPPED, TIME_IS_UP } from './attempts.ts';
import { type ExportCycleOptions, exportCycle } from './export-cycle.ts';
import type { ExportSource } from './export-source.ts';
import { sleepUntil, within } from './waiting.ts';

export interface ExportLoopOptions<Data>
  extends Omit<ExportCycleOptions<Data>, 'mustStop' | 'begin' | 'onSend' | 'onEnd'> {
  /** Time from the start of one export to the start of the next. */
  readonly intervalMs: number;
  /** Returns a number in [0, 1), for the jitter of retries. */
  readonly random: () => number;
}

type CycleOptions<Data> = Pick<ExportCycleOptions<Data>, 'mustStop' | 'onExport'>;

type Cycle<Data> = (
  sources: readonly ExportSource<Data>[],
  more: CycleOptions<Data>,
) => Promise<readonly ExportSource<Data>[]>;

export function createExportLoop<Data>(options: ExportLoopOptions<Data>) {
  const { intervalMs, random } = options;
  const stopping = new AbortController();
  /** Sources that are being exported. They are not collected again until that export has ended. */
  const underWay = new Set<ExportSource<Data>>();
  /** All sources, least recently sent first, so that each source gets its turn even if time is short. */
  const turns = new Set<ExportSource<Data>>();
  const always = {
    ...options,
    onSend: (source: ExportSource<Data>) => turns.delete(source) && turns.add(source),
    onEnd: (source: ExportSource<Data>) => underWay.delete(source),
  };
  /** Rounds in progress. One starts per interval; they overlap if the backend responds slowly to some sources. */
  const rounds = new Set<Promise<void>>();
  let running: Promise<void> = Promise.resolve();
  const attempts = new Attempts({ firstMs: FIRST_RETRY_MS.scheduled, maxMs: intervalMs, random });
  let newestTick = 0;

  const cycle: Cycle<Data> = async (sources, more) => {
    const tick = newestTick;
    const begin = (source: ExportSource<Data>): boolean => {
      // A source that waited for longer than an interval is exported by the next tick instead.
      if (underWay.has(source) || tick !== newestTick) return false;
      underWay.add(source);
      return true;
    };
    return exportCycle(sources, { ...always, ...more, begin });
  };

  /** Exports the sources and retries failed ones with back-off, until the next tick exports all sources again. */
  async function round(sources: readonly ExportSource<Data>[], endMs: number): Promise<void> {
    // There is no time limit: the next attempt would begin with the same requests, and the last ones would never be sent.
    const mustStop = () => (stopping.signal.aborted ? STOPPED : undefined);
    let left = sources;
    const send = async () => {
      left = await cycle(left, { mustStop, onExport: options.onExport });
      return left.length === 0;
    };
    await attempts.repeat(send, { endMs, signal: stopping.signal });
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
    /** Starts the schedule. The first export is after one interval. */
    start(sources: readonly ExportSource<Data>[]): void {
      for (const source of sources) turns.add(source);
      running = run();
    },
    /**
     * Ends the schedule. Exports in progress send no further requests.
     * @returns whether all exports ended before the deadline; a source that is still being exported is not flushed
     */
    async stop(deadlineMs: number): Promise<boolean> {
      stopping.abort();
      const isOver = running.then(() => true);
      return within(deadlineMs, isOver, () => false);
    },
    flush: (sources: readonly ExportSource<Data>[], deadlineMs: number) =>
      flush(sources, deadlineMs, options, cycle),
  };
}

/**
 * Exports these sources now, and retries failed ones until the deadline. Call it after `stop`.
 * @returns the sources that were not exported completely
 */
async function flush<Data>(
  sources: readonly ExportSource<Data>[],
  deadlineMs: number,
  options: ExportLoopOptions<Data>,
  cycle: Cycle<Data>,
): Promise<readonly ExportSource<Data>[]> {
  const endMs = performance.now() + deadlineMs;
  const left = new Set(sources);
  const more: CycleOptions<Data> = {
    mustStop: () => (performance.now() < endMs ? undefined : TIME_IS_UP),
    onExport(source, outcome) {
      if (outcome.outcome !== 'failure') left.delete(source);
      options.onExport(source, outcome);
    },
  };
  const send = async () => {
    await cycle([...left], more);
    return left.size === 0;
  };
  const { intervalMs: maxMs, random } = options;
  const attempts = new Attempts({ firstMs: FIRST_RETRY_MS.flush, maxMs, random });
  await within(deadlineMs, attempts.repeat(send, { endMs }), () => undefined);
  return [...left];
}

/** The time of the next tick. Missed ticks are skipped. */
function nextTickMs(tickMs: number, intervalMs: number): number {
  const missed = Math.floor(Math.max(0, performance.now() - tickMs) / intervalMs);
  return tickMs + (missed + 1) * intervalMs;
}
