/** How much of workers may be held, and what each takes in memory, as it was measured with the longest texts. Pure. */
import { CHARACTER_BYTES } from './measured-bytes.ts';
import type { Worker } from './worker.ts';

/** A worker's entry without its nodename; with former versions of it. */
const WORKER_BYTES = 1500;
/** With texts of its own, of 64 characters as decoding cuts them. */
export const WORD_BYTES = 600;

/** Room for five processes: a worker of which several were deployed one after the other, and none is forgotten yet. */
const BYTES_PER_WORKER = 12_000;
/** So that a few that crash again and again do not push out the others of a small table. */
const BYTES_MAX_MIN = 1_000_000;

/** Told at once, and for each worker there may be; what is kept of the others has bounds of its own. */
export const FORGOTTEN_MAX = 100_000;
export const FORGOTTEN_PER_WORKER = 2;

/** A worker greets, beats at once, and answers to remote control and says goodbye in the same second. */
const WORDS_AT_ONCE = 4;
/** Celery's usual interval is two seconds; it can be set to one. */
const BEAT_MS = 1000;
/** So that a few workers that reconnect again and again do not have words applied early. */
const WORDS_MAX_MIN = 1000;

/** Without its processes. */
export function ownBytesOf({ nodename }: Worker): number {
  return WORKER_BYTES + CHARACTER_BYTES * nodename.length;
}

/** More than honest workers say within the time for which that is held. */
export function wordsMax(workersMax: number, windowMs: number): number {
  return Math.max(WORDS_MAX_MIN, workersMax * (WORDS_AT_ONCE + Math.ceil(windowMs / BEAT_MS)));
}

/** Of all workers, so that no number of processes and no length of names takes more. */
export function workersBytesMax(workersMax: number): number {
  return Math.max(BYTES_MAX_MIN, workersMax * BYTES_PER_WORKER);
}
