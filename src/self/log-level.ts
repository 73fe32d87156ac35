/** The log levels, as a table that options can use without loading a logger. */

/** pino's levels, and `silent`. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Other names of these levels, as in Python and OpenTelemetry, in lower case. */
export const OTHER_LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ['notset', 'trace'],
  ['all', 'trace'],
  ['verbose', 'trace'],
  ['warning', 'warn'],
  ['critical', 'fatal'],
  ['none', 'silent'],
  ['off', 'silent'],
]);

export type LogLevel = (typeof LOG_LEVELS)[number];
