/**
 * Rate-limits log lines: the first of each window pass, and the next one that passes says how many were suppressed. Pure:
 * the (monotonic) time is an argument.
 */
import { printable } from '../printable.ts';
import { type LineLevel, logLine } from './log-line.ts';
import type { SelfEvent } from './self-event.ts';

export interface LogRate {
  /**
   * Whether to log now; if so, how many lines of the same key were suppressed since the last.
   * @param most lines per window
   */
  admit(
    key: string,
    nowMs: number,
    most?: number,
  ): { readonly log: true; readonly heldBack: number } | { readonly log: false };
}

/** Keys are made of bounded fields. Should there be more nevertheless, the table is cleared. */
const KEYS_MAX = 1000;

export function createLogRate(windowMs: number): LogRate {
  const seen = new Map<string, { sinceMs: number; passed: number; heldBack: number }>();
  return {
    admit(key, nowMs, most = 1) {
      const last = seen.get(key);
      if (last !== undefined && nowMs - last.sinceMs < windowMs) {
        if (last.passed < most) {
          last.passed += 1;
          return { log: true, heldBack: 0 };
        }
        last.heldBack += 1;
        return { log: false };
      }
      if (last === undefined && seen.size >= KEYS_MAX) seen.clear();
      seen.set(key, { sinceMs: nowMs, passed: 1, heldBack: 0 });
      return { log: true, heldBack: last?.heldBack ?? 0 };
    },
  };
}

/** A line to log, with everything unprintable escaped. */
export interface AdmittedLine {
  readonly level: LineLevel;
  readonly text: string;
  /** Few and of few values, for filtering; the text says the rest. */
  readonly fields: Readonly<Record<string, string | number>>;
}

const RATE_WINDOW_MS = 60_000;

/** @returns maps an event to its line; undefined if its level is off or it is rate-limited */
export function boundedLines(
  isOn: (level: LineLevel) => boolean,
): (event: SelfEvent, nowMs: number) => AdmittedLine | undefined {
  const rate = createLogRate(RATE_WINDOW_MS);
  /** The last line of each state. */
  const said = new Map<string, string>();
  return (event, nowMs) => {
    const { level, text, rateKey, perMinute, stateOf } = logLine(event);
    if (!isOn(level)) return undefined;
    const admitted =
      rateKey === undefined ? ({ log: true, heldBack: 0 } as const) : rate.admit(rateKey, nowMs, perMinute);
    if (!admitted.log) return undefined;
    if (stateOf !== undefined) {
      // If the line about the end of a state was suppressed, its new beginning is no news either.
      if (rateKey === undefined && said.get(stateOf) === text) return undefined;
      said.set(stateOf, text);
    }
    const { kind, service } = event;
    const { heldBack } = admitted;
    const held = heldBack > 0 ? { held_back: heldBack } : {};
    return { level, text: printable(text), fields: { kind, service: printable(service), ...held } };
  };
}
