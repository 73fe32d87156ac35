/**
 * Prepares the texts of an exception for log records and for descriptions of spans: bounded, without secrets, and safe to
 * print. Pure.
 */
import type { ErrorTexts } from '../celery/event.ts';
import { cut, cutInMiddle, safeLines, safeName, withoutTorn } from './bounded-text.ts';
import type { LogSettings } from './log-settings.ts';
import { withoutMessages } from './python-traceback.ts';
import { type FurtherSecrets, redacted } from './redaction.ts';

/** All in UTF-16 units. */
export const MESSAGE_CHARS_MAX = 1024;
export const STACKTRACE_CHARS_MAX = 16 * 1024;
const PATH_CHARS_MAX = 255;

export type ErrorTextSettings = Pick<LogSettings, 'exceptionMessage' | 'exceptionStacktrace'> &
  FurtherSecrets;

/** @returns '' for texts that are unknown, or that the settings exclude */
export function shownTexts(error: ErrorTexts, settings: ErrorTextSettings): ErrorTexts {
  const { exceptionMessage, exceptionStacktrace } = settings;
  const message = exceptionMessage ? cut(error.message, MESSAGE_CHARS_MAX) : '';
  const shown = redacted(message, settings, isCut(error.message));
  const whole = exceptionStacktrace ? error.stacktrace : '';
  const wanted = exceptionMessage ? whole : withoutMessages(whole);
  const stacktrace = withoutTorn(cutInMiddle(wanted, STACKTRACE_CHARS_MAX));
  return {
    path: safeName(error.path, PATH_CHARS_MAX),
    // Cut again, because escaping makes texts longer.
    message: cut(safeLines(shown), MESSAGE_CHARS_MAX),
    stacktrace: cutInMiddle(safeLines(redacted(stacktrace, settings)), STACKTRACE_CHARS_MAX),
  };
}

/** Whether the end of a message or repr may be missing: this program and Celery cut longer ones. */
export function isCut(text: string): boolean {
  return text.length >= MESSAGE_CHARS_MAX;
}
