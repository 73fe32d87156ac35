/** What takes how much memory, as it was measured: for all that is bounded in bytes. */

/** An UTF-16 unit. Most texts take half of it, but nobody can tell of which. */
export const CHARACTER_BYTES = 2;
/** A process of a worker: with its last words, its starts and the process that it took the place of. */
export const PROCESS_BYTES = 2000;
/** One that is no longer known, which its runs keep in memory. */
export const FORMER_PROCESS_BYTES = 1200;
