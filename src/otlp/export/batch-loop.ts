/**
 * Sends the items of a queue, one batch after the other: when a batch is full, or some time after the previous one.
 * Items that could not be sent are retried before any others, with exponential back-off. It never keeps the process
 * alive.
 */
import { Attempts, FIRST_RETRY_MS, STOPPED, TIME_IS_UP } from './attempts.ts';
import { Batch, type BatchOptions } from './batch.ts';
import { type ExportOutcome, exportSource } from './export-source.ts';
import type { Backend, Stop } from './send-requests.ts';
import { sleepUntil, within } from './waiting.ts';

export interface BatchLoopOptions<Source, Item, Data>
  extends BatchOptions<Source, Item, Data>,
    Omit<Backend<Data>, 'mustStop'> {
  /** A batch that is not full is sent this many ms after the previous one. */
  readonly delayMs: number;
  readonly onExport: (outcome: ExportOutcome) => void;
  /** Called for each item that the backend refused permanently. */
  readonly onRefused: (source: Source) => void;
  /** Called after an internal error. The batch is dropped as if it were refused. */
  readonly onDefect: (reason: unknown) => void;
  /** Returns a number in [0, 1), for the jitter of retries. */
  readonly random: () => number;
}

/** Longest back-off. It is short because the queue fills up soon, and an unavailable backend gets only one request at a time. */
const RETRY_MAX_MS = 10_000;
/** Minimum delay, so that an idle loop with a delay of 0 does not keep the processor busy. */
const DELAY_MIN_MS = 20;

export class BatchLoop<Source, Item, Data> {
  readonly #options: BatchLoopOptions<Source, Item, Data>;
  readonly #batch: Batch<Source, Item, Data>;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Ends the wait for the next batch. Undefined while the loop sends or backs off. */
  #idle: AbortController | undefined;
  #isOver = false;

  constructor(options: BatchLoopOptions<Source, Item, Data>) {
    this.#options = options;
    this.#batch = new Batch(options);
  }

  /** Starts the loop. The first batch is sent when it is full, or after the delay. */
  start(): void {
    this.#running = this.#run();
  }

  /** Call it after an item was added to the queue. */
  noteAdded(): void {
    if (this.#idle !== undefined && this.#isDue()) this.#wake();
  }

  /**
   * Sends the queued items until the deadline, and drops the rest.
   * @param onUnsent called for each dropped item, including those that are being sent
   */
  async close(deadlineMs: number, onUnsent: (source: Source) => void): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    await within(deadlineMs, this.#flush(performance.now() + deadlineMs), () => undefined);
    this.#isOver = true;
    this.#batch.drop(onUnsent);
    this.#batch.fill(Number.POSITIVE_INFINITY);
    this.#batch.drop(onUnsent);
  }

  #wake(): void {
    const idle = this.#idle;
    // Abort once, not for each item of a burst: every abort creates an error.
    this.#idle = undefined;
    idle?.abort();
  }

  #isDue(): boolean {
    return this.#options.queue.waiting >= this.#options.batchMax;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const mustStop = () => (signal.aborted ? STOPPED : undefined);
    const attempts = this.#attempts(FIRST_RETRY_MS.scheduled);
    for (;;) {
      if (!this.#isDue()) await this.#rest();
      if (signal.aborted) return;
      await attempts.repeat(() => this.#send(mustStop), { endMs: Number.POSITIVE_INFINITY, signal });
    }
  }

  async #rest(): Promise<void> {
    const idle = new AbortController();
    this.#idle = idle;
    await sleepUntil(performance.now() + Math.max(this.#options.delayMs, DELAY_MIN_MS), idle.signal);
    this.#idle = undefined;
  }

  /** Sends the remaining items, with retries, until the time is up. */
  async #flush(endMs: number): Promise<void> {
    const mustStop = () => (performance.now() < endMs ? undefined : TIME_IS_UP);
    await this.#running;
    const attempts = this.#attempts(FIRST_RETRY_MS.flush);
    while (this.#options.queue.held.items > 0 && !this.#isOver)
      if (!(await attempts.repeat(() => this.#send(mustStop), { endMs }))) return;
  }

  /** Sends one batch. @returns whether the next one may be sent at once */
  async #send(mustStop: () => Stop | undefined): Promise<boolean> {
    this.#batch.fill();
    if (this.#batch.pending === 0) return true;
    const source = { name: '', collect: async () => this.#batch.requests() };
    try {
      const { outcome, isAnswered } = await exportSource(source, { ...this.#options, mustStop });
      if (this.#isOver) return false;
      if (isAnswered) this.#batch.drop(this.#options.onRefused);
      if (outcome !== undefined) this.#options.onExport(outcome);
      return isAnswered;
    } catch (error) {
      if (this.#isOver) return false;
      this.#batch.drop(this.#options.onRefused);
      this.#options.onDefect(error);
      return true;
    }
  }

  #attempts(firstMs: number): Attempts {
    return new Attempts({ firstMs, maxMs: RETRY_MAX_MS, random: this.#options.random });
  }
}
