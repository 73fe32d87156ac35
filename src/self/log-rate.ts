/**
 * Bounds how often one kind of line is logged: the first of each window pass, the rest are counted and told with the
 * next that passes. Pure: the time is an argument, and a monotonic one.
 */
import { printable } from '../printable.ts';
import { type LineLevel, logLine } from './log-line.ts';
import type { SelfEvent } from './self-event.ts';

export interface LogRate {
  /**
   * Whether to log now; if so, how many of the same key were held back since the last.
   * @param most that pass in a window
   */
  admit(
    key: string,
    nowMs: number,
    most?: number,
  ): { readonly log: true; readonly heldBack: number } | { readonly log: false };
}

/** Keys are made of bounded fields; should they not be, the table starts anew rather than grow. */
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

/** A line that is to be logged, fit to be shown. */
export interface AdmittedLine {
  readonly level: LineLevel;
  readonly text: string;
  /** A bounded set to filter by; the text says the rest. */
  readonly fields: Readonly<Record<string, string | number>>;
}

/** One line of a kind and reason a minute, where its row says no other number. */
const RATE_WINDOW_MS = 60_000;

/** @returns the line of an event; undefined where its level is off, or it is held back */
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
      // Where the line was held back that says how the state ended, that it begins again is no news either.
      if (rateKey === undefined && said.get(stateOf) === text) return undefined;
      said.set(stateOf, text);
    }
    const { kind, service } = event;
    const { heldBack } = admitted;
    const held = heldBack > 0 ? { held_back: heldBack } : {};
    return { level, text: printable(text), fields: { kind, service: printable(service), ...held } };
  };
}
