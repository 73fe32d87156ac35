/** The shape of a log line, and helpers for its text. Pure. */

export type LineLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogLine {
  readonly level: LineLevel;
  readonly text: string;
  /** Lines with the same key share one rate limit; undefined: always logged. */
  readonly rateKey: string | undefined;
  /** How many lines with this key are logged per minute; undefined: one. */
  readonly perMinute?: number;
  /** Names the owner of a state that may flap: a line without a key is dropped if the owner’s last line had the same text. */
  readonly stateOf?: string;
}

/** Quotes untrusted text, so that it cannot be mistaken for our own. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A duration in seconds: with one decimal below ten seconds, else in whole seconds. */
export function seconds(ms: number): string {
  return `${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`;
}

export function line(level: LineLevel, text: string, rateKey?: string): LogLine {
  return { level, text, rateKey };
}
