/**
 * Estimates the memory of a task, including the objects that only this task may keep in memory. It overestimates: a shared text
 * counts for each of its users, with two bytes per character. Pure.
 */
import { CHARACTER_BYTES } from '../measured-bytes.ts';
import type { Task } from './task.ts';

/**
 * The bound of a task table in bytes, per task that it may remember. With names of 40 characters, a running task counts 960
 * bytes here, a sent one 810 and one that has ended 420; in memory they take 330, 320 and 220.
 */
const BYTES_PER_TASK = 1050;
/** The smallest bound of a task table in bytes: room for some of the heaviest tasks. */
const BYTES_MAX_MIN = 1_048_576;

/** Bytes of the entry of a task with its fingerprints, which is reused for the next task. */
export const ENTRY_BYTES = 180;

/** Bytes of a task in the index by id, which doubles when it is full. */
const INDEX_BYTES = 64;
/** Bytes of a run without its texts, but with its numbers and its identity; of a sending; and of a text without its characters. */
const RUN_BYTES = 240;
const SENDING_BYTES = 190;
const TEXT_BYTES = 24;
/** Bytes of a task without the characters of its texts, runs and sendings. */
const BARE_BYTES = INDEX_BYTES + 3 * TEXT_BYTES;

/** The bound in bytes of a table for this many tasks. */
export function bytesFor(tasks: number): number {
  return Math.max(tasks * BYTES_PER_TASK, BYTES_MAX_MIN);
}

/** Bytes of a task beyond its entry. */
export function weightOf({ text, name, queue, runs, sendings }: Task): number {
  let bytes = BARE_BYTES;
  let characters = text.length + name.length + queue.length;
  for (let run = runs; run !== undefined; run = run.next) {
    const { identity, sender } = run;
    bytes += RUN_BYTES + 4 * TEXT_BYTES;
    characters += identity.task.length + identity.queue.length + identity.worker.length + sender.length;
  }
  for (let sending = sendings; sending !== undefined; sending = sending.next) {
    bytes += SENDING_BYTES + 3 * TEXT_BYTES;
    characters += sending.name.length + sending.queue.length + sending.sender.length;
  }
  return bytes + CHARACTER_BYTES * characters;
}
