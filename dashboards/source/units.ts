/** Grafana’s names of the units that panels have. It converts nothing. */
export const SECONDS = 's';
export const BYTES = 'bytes';
export const COUNT = 'short';
/** From 0 to 1. */
export const RATIO = 'percentunit';
export const PER_SECOND = 'cps';
