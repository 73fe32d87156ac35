/** A name that forges a log line, clears the screen and reverses the writing direction, and its escaped form. */
export const HOSTILE =
  'w1@h\u001b[2J\r\n{"level":"error"}\u0000\u007f\u0085\u009b31m\u202egnp\u2066\u200f\u2028\u2029\ufeff\ud800.';
export const HOSTILE_SHOWN =
  'w1@h\\u001b[2J\\u000d\\u000a{"level":"error"}\\u0000\\u007f\\u0085\\u009b31m\\u202egnp\\u2066\\u200f\\u2028\\u2029\\ufeff\\ud800.';

/** Nothing of it may be on a line. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
