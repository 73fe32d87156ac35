/**
 * Judges by the rhythm of heartbeats whether two processes send under one nodename and one pid, as replicas of a
 * container do. Pure.
 */
import type { WorkerSignal } from '../../celery/event.ts';

/** Heartbeats that are judged together. */
const BLOCK = 5;
/** The share of one process’s time for these heartbeats; two processes take half. */
const SHORT_PART = 0.75;
/** How many consecutive blocks came from a single process. */
const ALONE_BLOCKS = 5;
/** If their clocks differ, timestamps fall. */
const FALLS_MIN = 2;
/** Processes under one name whose rhythm is known. */
const PIDS_MAX = 8;

class HeartbeatRhythm {
  /** Of the block so far. */
  #count = 0;
  #firstMs = 0;
  #firstArrivedMs = 0;
  #lastMs = 0;
  #falls = 0;
  #blocksAlone = 0;
  /** More than one process sends. */
  isShared = false;

  note({ type, timestampMs, freqS, processed }: WorkerSignal, arrivedAtMs: number): void {
    // Only these are periodic: others are sent at a start, reconnection or end, or on request, without numbers.
    if (type !== 'worker-heartbeat' || freqS === undefined || processed === undefined) return;
    if (this.#count === 0) {
      this.#firstMs = timestampMs;
      this.#firstArrivedMs = arrivedAtMs;
    } else if (timestampMs === this.#lastMs) return;
    else if (timestampMs < this.#lastMs) this.#falls += 1;
    this.#lastMs = timestampMs;
    this.#count += 1;
    if (this.#count < BLOCK) return;
    const shortMs = SHORT_PART * (BLOCK - 1) * freqS * 1000;
    const isFast = arrivedAtMs - this.#firstArrivedMs < shortMs;
    // A backlog arrives fast as well, and its timestamps are those of one process.
    const areMixed = this.#falls >= FALLS_MIN || timestampMs - this.#firstMs < shortMs;
    this.#judge(isFast && areMixed);
    this.#count = this.#falls = 0;
  }

  #judge(isShared: boolean): void {
    this.#blocksAlone = isShared ? 0 : this.#blocksAlone + 1;
    if (isShared) this.isShared = true;
    else if (this.#blocksAlone >= ALONE_BLOCKS) this.isShared = false;
  }
}

/** Of the processes of one worker. */
export class HeartbeatRhythms {
  #byPid: Map<number, HeartbeatRhythm> | undefined;

  /** Takes each worker event as it arrives, in listened time. @returns whether several processes send with this pid */
  note(event: WorkerSignal, arrivedAtMs: number): boolean {
    this.#byPid ??= new Map();
    let rhythm = this.#byPid.get(event.pid);
    if (rhythm === undefined) {
      const [oldest] = this.#byPid.keys();
      if (oldest !== undefined && this.#byPid.size >= PIDS_MAX) this.#byPid.delete(oldest);
      rhythm = new HeartbeatRhythm();
      this.#byPid.set(event.pid, rhythm);
    }
    rhythm.note(event, arrivedAtMs);
    return rhythm.isShared;
  }
}
