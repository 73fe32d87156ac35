/**
 * How much memory a task takes, with all that only it may hold. It rather says too much: a text counts for each who has
 * it, though most of them are shared, and as if it were of two bytes a character, since nobody can tell. Pure.
 */
import type { FinishedRuns } from './finished-runs.ts';
import { CHARACTER_BYTES } from './measured-bytes.ts';
import type { Task } from './task.ts';

/**
 * What a table has room for, by each task that it may remember. With names of 40 characters, a task that runs takes
 * 1,030 as they are counted here, one that was sent 880 and one that is over 490; of memory 390, 370 and 280.
 */
const BYTES_PER_TASK = 1280;
/** However few tasks it remembers: some of the heaviest that there can be. */
const BYTES_AT_LEAST = 1_048_576;

/** The entry itself with its fingerprints, which is kept for the next task. */
export const ENTRY_BYTES = 180;

/** Of the map by uuid, which doubles when it is full. */
const MAP_ENTRY_BYTES = 64;
/** With its numbers and its identity. */
const RUN_BYTES = 240;
const SENDING_BYTES = 190;
const TEXT_BYTES = 24;
const BARE_BYTES = MAP_ENTRY_BYTES + 3 * TEXT_BYTES;

/** What a table that remembers so many tasks has room for. */
export function bytesFor(tasks: number): number {
  return Math.max(tasks * BYTES_PER_TASK, BYTES_AT_LEAST);
}

/** Bytes of a task of which nothing is known, beyond those of its entry. */
export function weightOfNew(uuid: string): number {
  return BARE_BYTES + CHARACTER_BYTES * uuid.length;
}

/** Bytes beyond those of its entry. @param finished what it keeps of the runs counts too */
export function weightOf({ uuid, name, queue, runs, sendings }: Task, finished?: FinishedRuns): number {
  let bytes = BARE_BYTES;
  let characters = uuid.length + name.length + queue.length;
  for (let run = runs; run !== undefined; run = run.next) {
    const { identity, sender } = run;
    if (finished !== undefined) bytes += finished.bytesOf(run);
    bytes += RUN_BYTES + 4 * TEXT_BYTES;
    characters += identity.task.length + identity.queue.length + identity.worker.length + sender.length;
  }
  for (let sending = sendings; sending !== undefined; sending = sending.next) {
    bytes += SENDING_BYTES + 3 * TEXT_BYTES;
    if (finished !== undefined) bytes += finished.bytesOf(sending);
    characters += sending.name.length + sending.queue.length + sending.sender.length;
  }
  return bytes + CHARACTER_BYTES * characters;
}
