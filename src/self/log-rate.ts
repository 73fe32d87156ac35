/**
 * Rate-limits log lines: the first line of each minute passes; the next line that passes reports how many were suppressed.
 * Pure: the (monotonic) time is an argument.
 */
import { printable } from '../text/printable.ts';
import { type LineLevel, logLine } from './log-line.ts';
import type { SelfEvent } from './self-event.ts';

const RATE_WINDOW_MS = 60_000;
/** How many rate-limit keys are kept. A key consists of bounded fields; if there are too many anyway, all are forgotten. */
const KEYS_MAX = 1000;

/**
 * @returns a function from events to lines, with unprintable characters escaped; it returns undefined if the level is
 * off or the line is rate-limited
 */
export function boundedLines(isOn: (level: LineLevel) => boolean) {
  const windows = new Map<string, { sinceMs: number; passed: number; heldBack: number }>();
  /** The text of the last line about each state, by the owner of the state (`stateOf`). */
  const said = new Map<string, string>();

  /** How many lines with this key were suppressed since the last one; undefined if this one is suppressed, too. */
  function heldBackBefore(key: string, nowMs: number, most = 1): number | undefined {
    const window = windows.get(key);
    if (window === undefined || nowMs - window.sinceMs >= RATE_WINDOW_MS) {
      if (window === undefined && windows.size >= KEYS_MAX) windows.clear();
      windows.set(key, { sinceMs: nowMs, passed: 1, heldBack: 0 });
      return window?.heldBack ?? 0;
    }
    if (window.passed < most) {
      window.passed += 1;
      return 0;
    }
    window.heldBack += 1;
    return undefined;
  }

  return (event: SelfEvent, nowMs: number) => {
    const { level, text, rateKey, perMinute, stateOf } = logLine(event);
    if (!isOn(level)) return undefined;
    const heldBack = rateKey === undefined ? 0 : heldBackBefore(rateKey, nowMs, perMinute);
    if (heldBack === undefined) return undefined;
    if (stateOf !== undefined) {
      // If the line about the end of a state was suppressed, neither is the line that it begins again.
      if (rateKey === undefined && said.get(stateOf) === text) return undefined;
      said.set(stateOf, text);
    }
    const { kind, service } = event;
    const held = heldBack > 0 ? { held_back: heldBack } : {};
    // Few fields with few values, for filtering; the text has the rest.
    const fields = { kind, service: printable(service), ...held };
    return { level, text: printable(text), fields };
  };
}
