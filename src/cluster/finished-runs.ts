/**
 * Tells of each run that ends as one thing, for whoever wants that: keeps what of it is needed for that only. Without
 * anybody who does, there is none of this. It decides of no run whether it has ended.
 */
import type { Lineage } from '../celery/event.ts';
import { CHARACTER_BYTES } from './measured-bytes.ts';
import type { FinishedRun } from './observation.ts';
import { Run, type Sending } from './run.ts';
import type { HeldEvent, Task } from './task.ts';

/** By the clock of whoever told it, epoch ms; undefined where nobody can tell. */
interface Kept {
  readonly lineage: Lineage | undefined;
  readonly sentMs: number | undefined;
  readonly receivedMs: number | undefined;
  startedMs: number | undefined;
}

/** Without its texts. */
const KEPT_BYTES = 200;

export class FinishedRuns {
  readonly #onFinished: (run: FinishedRun) => void;
  /** Runs are used again: what is kept of one is replaced when it begins anew. */
  readonly #kept = new WeakMap<Run, Kept>();
  /** So are sendings. */
  readonly #lineages = new WeakMap<Sending, Lineage>();

  /** @param onFinished must not throw */
  constructor(onFinished: (run: FinishedRun) => void) {
    this.#onFinished = onFinished;
  }

  sent(sending: Sending, lineage: Lineage | undefined): void {
    if (lineage === undefined) this.#lineages.delete(sending);
    else this.#lineages.set(sending, lineage);
  }

  /** @param sending it began from, if that is known */
  began(run: Run, { type, plausibleMs, lineage }: HeldEvent, sending: Sending | undefined): void {
    const isReceipt = type === 'task-received';
    this.#kept.set(run, {
      lineage: (isReceipt ? lineage : undefined) ?? (sending && this.#lineages.get(sending)),
      sentMs: sending?.plausibleMs,
      receivedMs: isReceipt ? plausibleMs : undefined,
      startedMs: undefined,
    });
  }

  started(run: Run, startedMs: number | undefined): void {
    const kept = this.#kept.get(run);
    if (kept !== undefined) kept.startedMs = startedMs;
  }

  ended(task: Task, run: Run, end: Pick<FinishedRun, 'outcome' | 'errorType' | 'endedMs'>): void {
    const { lineage, sentMs, receivedMs, startedMs } = this.#kept.get(run) ?? {};
    this.#onFinished({
      uuid: task.uuid,
      rootId: lineage?.rootId ?? '',
      parentId: lineage?.parentId ?? '',
      run: run.identity,
      sentMs,
      receivedMs,
      startedMs,
      ...end,
    });
  }

  /** What is kept of a run or a sending takes in memory, at most. */
  bytesOf(of: Run | Sending): number {
    const lineage = of instanceof Run ? this.#kept.get(of)?.lineage : this.#lineages.get(of);
    return KEPT_BYTES + lineageBytes(lineage);
  }
}

export function lineageBytes(lineage: Lineage | undefined): number {
  return lineage === undefined ? 0 : CHARACTER_BYTES * (lineage.rootId.length + lineage.parentId.length);
}
