/**
 * Judges by the rhythm of heartbeats whether two processes send with the same nodename and pid, as replicas of a container do.
 * Pure; it does not separate their events.
 */
import type { WorkerSignal } from '../../celery/event.ts';

/** How many consecutive heartbeats are judged together. */
const BLOCK = 5;
/** A block is fast if it takes less than this share of the time that one process needs; two processes need half. */
const SHORT_PART = 0.75;
/** After this many consecutive blocks from a single process, the pid is no longer shared. */
const ALONE_BLOCKS = 5;
/** How many timestamps of a block must be lower than the previous one to show two processes, whose clocks differ. */
const FALLS_MIN = 2;
/** The most pids under one nodename whose rhythm is remembered. */
const PIDS_MAX = 8;

/** The heartbeats of one pid. */
class HeartbeatRhythm {
  /** The heartbeats of the current block, and the times of its first and last one. */
  #count = 0;
  #firstMs = 0;
  #firstArrivedMs = 0;
  #lastMs = 0;
  #falls = 0;
  #blocksAlone = 0;
  /** Whether more than one process sends with this pid. */
  isShared = false;

  add({ type, timestampMs, freqS, processed }: WorkerSignal, arrivedAtMs: number): void {
    // Only heartbeats with numbers are periodic: others reply to remote control, and other events mark a start or end.
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
    // A backlog arrives fast as well, but its timestamps rise as slowly as those of one process.
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

/** The rhythms of all pids under one nodename. */
export class HeartbeatRhythms {
  #byPid: Map<number, HeartbeatRhythm> | undefined;

  /** Takes a worker event that arrived at this listened time, ms. @returns whether several processes send with its pid */
  add(event: WorkerSignal, arrivedAtMs: number): boolean {
    this.#byPid ??= new Map();
    let rhythm = this.#byPid.get(event.pid);
    if (rhythm === undefined) {
      const [oldest] = this.#byPid.keys();
      if (oldest !== undefined && this.#byPid.size >= PIDS_MAX) this.#byPid.delete(oldest);
      rhythm = new HeartbeatRhythm();
      this.#byPid.set(event.pid, rhythm);
    }
    rhythm.add(event, arrivedAtMs);
    return rhythm.isShared;
  }
}
