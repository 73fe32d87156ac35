/**
 * Reports each run that ends as one record, and keeps the data that only this needs. It is created only if there is a
 * subscriber, and does not decide whether a run has ended.
 */
import type { Lineage } from '../celery/event.ts';
import { CHARACTER_BYTES } from './measured-bytes.ts';
import type { FinishedRun } from './observation.ts';
import { Run, type Sending } from './run.ts';
import type { HeldEvent } from './task.ts';

/** Times are by the sender’s clock, epoch ms; undefined if not known. */
interface Kept {
  readonly lineage: Lineage | undefined;
  readonly sentMs: number | undefined;
  readonly receivedMs: number | undefined;
  startedMs: number | undefined;
}

/** Without texts. */
const KEPT_BYTES = 200;

export class FinishedRuns {
  readonly #onFinished: (run: FinishedRun) => void;
  /** Run objects are pooled: an entry is replaced when its object is used for a new run. */
  readonly #kept = new WeakMap<Run, Kept>();
  /** Sendings are pooled too. */
  readonly #lineages = new WeakMap<Sending, Lineage>();

  /** @param onFinished must not throw */
  constructor(onFinished: (run: FinishedRun) => void) {
    this.#onFinished = onFinished;
  }

  sent(sending: Sending, lineage: Lineage | undefined): void {
    if (lineage === undefined) this.#lineages.delete(sending);
    else this.#lineages.set(sending, lineage);
  }

  /** @param sending that the run began from, if known */
  began(run: Run, { type, plausibleMs, lineage }: HeldEvent, sending: Sending | undefined): void {
    const isReceipt = type === 'task-received';
    this.#kept.set(run, {
      lineage: (isReceipt ? lineage : undefined) ?? (sending && this.#lineages.get(sending)),
      sentMs: sending?.plausibleMs,
      receivedMs: isReceipt ? plausibleMs : undefined,
      startedMs: undefined,
    });
  }

  /** A run that its worker told of. */
  told(run: Run, startedMs: number | undefined): void {
    this.#kept.set(run, { lineage: undefined, sentMs: undefined, receivedMs: undefined, startedMs });
  }

  started(run: Run, startedMs: number | undefined): void {
    const kept = this.#kept.get(run);
    if (kept !== undefined) kept.startedMs = startedMs;
  }

  ended(uuid: string, run: Run, end: Pick<FinishedRun, 'outcome' | 'errorType' | 'endedMs'>): void {
    const { lineage, sentMs, receivedMs, startedMs } = this.#kept.get(run) ?? {};
    this.#onFinished({
      uuid,
      rootId: lineage?.rootId ?? '',
      parentId: lineage?.parentId ?? '',
      run: run.identity,
      sentMs,
      receivedMs,
      startedMs,
      ...end,
    });
  }

  /** Memory kept for a run or a sending, an upper estimate. */
  bytesOf(of: Run | Sending): number {
    const lineage = of instanceof Run ? this.#kept.get(of)?.lineage : this.#lineages.get(of);
    return KEPT_BYTES + lineageBytes(lineage);
  }
}

export function lineageBytes(lineage: Lineage | undefined): number {
  return lineage === undefined ? 0 : CHARACTER_BYTES * (lineage.rootId.length + lineage.parentId.length);
}
