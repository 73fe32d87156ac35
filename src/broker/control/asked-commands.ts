/**
 * Decides which remote control commands are sent to workers in a round (one pass over all commands), in which order and how
 * often, and which workers a reply could harm. It sends nothing itself.
 */
import { FAILED_REPLY_HARMLESS_FROM, isAtLeast } from '../../text/celery-version.ts';
import {
  type AskedCommand,
  COMMANDS,
  DEFAULT_COMMANDS,
  type InspectCommand,
  RISKY_COMMANDS,
  type RiskyCommand,
} from './commands.ts';
import type { ControlSettings } from './control.ts';

/**
 * The order of the commands. `stats` is first, because only its reply identifies the process of a worker. Tasks are listed in
 * the order of their stages: a task that moves on between two commands is reported twice instead of being missed.
 */
const ORDER = [
  'stats',
  'active_queues',
  'scheduled',
  'reserved',
  'active',
] as const satisfies InspectCommand[];

/** The commands of a round, in order. */
export function commandsOf({
  commands,
  enableEvents,
}: Pick<ControlSettings, 'commands' | 'enableEvents'>): readonly RoundCommand[] {
  const wanted: readonly InspectCommand[] = commands === 'auto' ? DEFAULT_COMMANDS : commands;
  return [
    ...(enableEvents ? (['enable_events'] as const) : []),
    ...ORDER.filter((command) => wanted.includes(command)),
  ];
}

export type RoundCommand = InspectCommand | 'enable_events';

/** The commands that are sent once to each worker process. */
export type OnceCommand = 'active' | RiskyCommand | 'enable_events';

export function isOnce(command: AskedCommand): command is OnceCommand {
  return command === 'active' || command === 'enable_events' || isRisky(command);
}

export function isRisky(command: AskedCommand): command is RiskyCommand {
  return RISKY_COMMANDS.some((risky) => risky === command);
}

/** Whether a worker’s reply may fail because of user-defined values. @param version of the worker’s Celery; '' if unknown */
export function canFail(command: AskedCommand, version: string): boolean {
  const row = COMMANDS[command];
  if (!('fixedReplyFrom' in row)) return true;
  const [major] = row.fixedReplyFrom;
  return major > 0 && isAtLeast(version, row.fixedReplyFrom) !== true;
}

/** Whether a failed reply may permanently stop a worker on Redis. */
export function canHarm(command: AskedCommand, version: string): boolean {
  return canFail(command, version) && isAtLeast(version, FAILED_REPLY_HARMLESS_FROM) !== true;
}
