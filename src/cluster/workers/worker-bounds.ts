/** The bounds on workers and their held events, and the measured memory of each with the longest texts. Pure. */
import { CHARACTER_BYTES } from '../measured-bytes.ts';
import type { Worker } from './worker.ts';

/** A worker’s entry without its nodename, with its former versions. */
const WORKER_BYTES = 1500;
/** A held worker event with its own texts, which decoding cuts to 64 characters. */
export const WORKER_EVENT_BYTES = 600;

/** Room for nearly four processes: several deployments in a row, none of them forgotten yet. */
const BYTES_PER_WORKER = 9000;
/** So that a few workers in a crash loop do not evict the others of a small table. */
const BYTES_MAX_MIN = 1_000_000;

/** The most forgotten nodenames to report at once, and per worker of the table. */
export const FORGOTTEN_MAX = 100_000;
export const FORGOTTEN_PER_WORKER = 2;

/** In one second a worker can send its online event, a heartbeat, one more for remote control, and its offline event. */
const EVENTS_AT_ONCE = 4;
/** Celery’s default heartbeat interval is two seconds; it can be set to one. */
const HEARTBEAT_MS = 1000;
/** So that a few workers that keep reconnecting do not have events applied early. */
const EVENTS_MAX_MIN = 1000;

/** A worker’s bytes without its processes. */
export function ownBytesOf({ nodename }: Worker): number {
  return WORKER_BYTES + CHARACTER_BYTES * nodename.length;
}

/** More events than honest workers send within the window. */
export function workerEventsMax(workersMax: number, windowMs: number): number {
  return Math.max(EVENTS_MAX_MIN, workersMax * (EVENTS_AT_ONCE + Math.ceil(windowMs / HEARTBEAT_MS)));
}

/** For all workers together, whatever the number of processes and the length of names. */
export function workersBytesMax(workersMax: number): number {
  return Math.max(BYTES_MAX_MIN, workersMax * BYTES_PER_WORKER);
}
