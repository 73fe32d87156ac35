/** Writes self events as log lines: JSON, or a human-readable form for a terminal. It decides neither texts nor rate limits. */
import { type Logger, type LoggerOptions, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { LogLevel } from './log-level.ts';
import { boundedLines } from './log-rate.ts';
import type { EventSink } from './self-event.ts';

export interface SelfLogSettings {
  readonly level: LogLevel;
  /** Whether lines are human-readable instead of JSON. */
  readonly pretty: boolean;
  readonly destination: NodeJS.WritableStream;
}

/** @param now monotonic ms; replaced in tests */
export function createSelfLog(settings: SelfLogSettings, now = (): number => performance.now()): EventSink {
  const logger = createLogger(settings);
  const admitted = boundedLines((level) => logger.isLevelEnabled(level));
  return (event) => {
    const line = admitted(event, now());
    if (line !== undefined) logger[line.level](line.fields, line.text);
  };
}

function createLogger({ level, pretty, destination }: SelfLogSettings): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
  };
  const form = { destination, colorize: true, ignore: 'kind', translateTime: 'HH:MM:ss' };
  return pino(options, pretty ? PinoPretty(form) : destination);
}
