/** Measured memory sizes, for all tables that are bounded in bytes. */

/** A UTF-16 unit. Most texts take half of it, but JavaScript does not expose which. */
export const CHARACTER_BYTES = 2;
/** A worker process with its last events, its starts and its predecessor. */
export const PROCESS_BYTES = 2000;
/** A dropped process that its runs keep in memory. */
export const FORMER_PROCESS_BYTES = 1200;
