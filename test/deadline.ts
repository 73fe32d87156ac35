/**
 * How long tests wait for what must happen: so long that only a fault exceeds it, on a busy machine too. It never says how fast
 * the program should be; that is for `*.limits.ts`.
 */

import { positive } from './positive.ts';

/** A machine that is slower still sets it to more than 1. */
const SLOWNESS = positive('TEST_SLOWNESS', 1);

/** For one wait. */
export const DEADLINE_MS = 60_000 * SLOWNESS;

/** For what a suite does before its tests, such as the installation of a package, and after them. */
export const HOOK_LIMIT_MS = 10 * DEADLINE_MS;

/** For one test with all of its waits, in `npm test`. */
export const TEST_LIMIT_MS = 2 * DEADLINE_MS;
