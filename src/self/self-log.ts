/**
 * Writes what happens to the bridge as log lines: JSON, or for people where a terminal reads along. It holds back
 * repetitions, so that nothing that arrives can flood a log.
 */
import { type Logger, type LoggerOptions, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { LogLevel } from './log-level.ts';
import { logLine } from './log-line.ts';
import { createLogRate } from './log-rate.ts';
import type { SelfEvent, Tell } from './self-event.ts';

export interface SelfLogSettings {
  readonly level: LogLevel;
  /** For people instead of machines. */
  readonly pretty: boolean;
  readonly destination: NodeJS.WritableStream;
  /** Epoch ms. */
  readonly now: () => number;
}

/** One line of a kind and reason a minute. */
const RATE_WINDOW_MS = 60_000;

export function createSelfLog(settings: SelfLogSettings): Tell {
  const logger = createLogger(settings);
  const rate = createLogRate(RATE_WINDOW_MS);
  return (event) => {
    const { level, text, rateKey } = logLine(event);
    if (!logger.isLevelEnabled(level)) return;
    const admitted =
      rateKey === undefined ? ({ log: true, heldBack: 0 } as const) : rate.admit(rateKey, settings.now());
    if (!admitted.log) return;
    logger[level](
      { ...fields(event), ...(admitted.heldBack > 0 ? { held_back: admitted.heldBack } : {}) },
      text,
    );
  };
}

function createLogger({ level, pretty, destination }: SelfLogSettings): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
  };
  if (!pretty) return pino(options, destination);
  return pino(
    options,
    PinoPretty({ destination, colorize: true, ignore: 'kind', translateTime: 'HH:MM:ss' }),
  );
}

/** A bounded set of fields to filter by; the text says the rest. */
function fields(event: SelfEvent): Record<string, string> {
  return { kind: event.kind, service: event.service };
}
