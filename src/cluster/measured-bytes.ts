/** Measured sizes in memory, in bytes, for all tables that are bounded in bytes. */

/** One UTF-16 unit of a text. Most texts take half of that, but JavaScript does not expose which ones. */
export const CHARACTER_BYTES = 2;
/** A worker process with its last events, its starts and its predecessor. */
export const PROCESS_BYTES = 2000;
/** A process that the worker table has dropped, but whose unfinished runs keep it in memory. */
export const FORMER_PROCESS_BYTES = 1200;
