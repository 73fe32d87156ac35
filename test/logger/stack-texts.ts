/** Stack traces and what is shown of them. */
import { shownTexts } from '../../src/logger/error-texts.ts';

export const ALL = { exceptionMessage: true, exceptionStacktrace: true, redact: [], redactNames: [] };
export const NO_MESSAGE = { ...ALL, exceptionMessage: false };
export const stackOf = (stacktrace: string, settings = ALL): string =>
  shownTexts({ path: '', message: '', stacktrace }, settings).stacktrace;

/** So many frames of Python. */
export const FRAMES = (n: number): string =>
  '  File "/srv/shop/tasks.py", line 49, in pay\n    raise Declined()\n'.repeat(n);
