/** The texts of an exception as they may be shown: bounded, without secrets, safe. Also for descriptions of spans. Pure. */
import type { ErrorTexts } from '../celery/event.ts';
import { cut, cutInMiddle, safeLines, safeName, withoutTorn } from './bounded-text.ts';
import type { LogSettings } from './log-settings.ts';
import { withoutMessages } from './python-traceback.ts';
import { redacted } from './redaction.ts';

/** All in UTF-16 units. */
export const MESSAGE_CHARS_MAX = 1024;
export const STACKTRACE_CHARS_MAX = 16 * 1024;
const PATH_CHARS_MAX = 255;

export type ErrorTextSettings = Pick<LogSettings, 'exceptionMessage' | 'exceptionStacktrace' | 'redact'>;

/** @returns with '' for what is not known or not to be shown */
export function shownTexts(error: ErrorTexts, settings: ErrorTextSettings): ErrorTexts {
  const { exceptionMessage, exceptionStacktrace, redact } = settings;
  const message = exceptionMessage ? cut(error.message, MESSAGE_CHARS_MAX) : '';
  const shown = redacted(message, redact, isCut(error.message));
  const whole = exceptionStacktrace ? error.stacktrace : '';
  const wanted = exceptionMessage ? whole : withoutMessages(whole);
  const stacktrace = withoutTorn(cutInMiddle(wanted, STACKTRACE_CHARS_MAX));
  return {
    path: safeName(error.path, PATH_CHARS_MAX),
    // Escaped texts are longer.
    message: cut(safeLines(shown), MESSAGE_CHARS_MAX),
    stacktrace: cutInMiddle(safeLines(redacted(stacktrace, redact)), STACKTRACE_CHARS_MAX),
  };
}

/** Whether the end of a message, or of a repr, may be missing: longer ones are cut here, at decoding, or by Celery. */
export function isCut(text: string): boolean {
  return text.length >= MESSAGE_CHARS_MAX;
}
