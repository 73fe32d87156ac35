/** The log of a command, on stderr: human-readable on a terminal, else JSON. */

import type { LogLevel } from '../self/log-level.ts';
import type { Tell } from '../self/self-event.ts';
import { createSelfLog } from '../self/self-log.ts';
import type { CommandIo } from './command-io.ts';

export function openLog(level: LogLevel, { stderr }: CommandIo): Tell {
  return createSelfLog({ level, pretty: stderr.isTTY === true, destination: stderr });
}
