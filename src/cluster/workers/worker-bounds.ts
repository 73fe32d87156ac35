/** The bounds on workers and their held events, and the measured memory of a worker and of an event. Pure. */
import { CHARACTER_BYTES } from '../measured-bytes.ts';
import type { Worker } from './worker.ts';

/** Bytes of a worker with its former versions, but without its nodename and processes. */
const WORKER_BYTES = 1500;
/** Bytes of a held worker event with its texts, which decoding cuts to 64 characters. */
export const WORKER_EVENT_BYTES = 600;

/** The bound in bytes per worker: room for nearly four processes, as after several deployments in a row. */
const BYTES_PER_WORKER = 9000;
/** The smallest bound in bytes, so that a few workers in a crash loop do not evict the others of a small table. */
const BYTES_MAX_MIN = 1_000_000;

/** The most forgotten nodenames to report at once: in total, and per worker that the table may hold. */
export const FORGOTTEN_MAX = 100_000;
export const FORGOTTEN_PER_WORKER = 2;

/** How many events a worker may send in one second: online, a heartbeat, another for remote control, and offline. */
const EVENTS_AT_ONCE = 4;
/** The shortest usual heartbeat interval, ms: Celery’s default is two seconds, and one can be set. */
const HEARTBEAT_MS = 1000;
/** The smallest bound on held events, so that those of a few workers that keep reconnecting are not applied early. */
const EVENTS_MAX_MIN = 1000;

/** Bytes of a worker without its processes. */
export function ownBytesOf({ nodename }: Worker): number {
  return WORKER_BYTES + CHARACTER_BYTES * nodename.length;
}

/** The bound on held worker events: more than honest workers send within a reordering window. */
export function workerEventsMax(workersMax: number, windowMs: number): number {
  return Math.max(EVENTS_MAX_MIN, workersMax * (EVENTS_AT_ONCE + Math.ceil(windowMs / HEARTBEAT_MS)));
}

/** The bound in bytes on all workers together, with their processes and names. */
export function workersBytesMax(workersMax: number): number {
  return Math.max(BYTES_MAX_MIN, workersMax * BYTES_PER_WORKER);
}
