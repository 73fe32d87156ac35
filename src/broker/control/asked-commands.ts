/** Which commands of remote control workers are asked, in which order, how often, and whom a reply could harm. It asks nothing. */
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
 * `stats` first: its reply alone says which process a worker is. Then the tasks in the order of their stages, against which none moves:
 * one that moves on between two questions is reported twice, and not left out.
 */
const ORDER = [
  'stats',
  'active_queues',
  'scheduled',
  'reserved',
  'active',
] as const satisfies InspectCommand[];

/** The questions of a round, in order. */
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

/** Asked once of each process. */
export type OnceCommand = 'active' | RiskyCommand | 'enable_events';

export function isOnce(command: AskedCommand): command is OnceCommand {
  return command === 'active' || command === 'enable_events' || isRisky(command);
}

export function isRisky(command: AskedCommand): command is RiskyCommand {
  return RISKY_COMMANDS.some((risky) => risky === command);
}

/** Whether the reply of a worker may fail, for what users have written. @param version of its Celery; '' if it is not known */
export function canFail(command: AskedCommand, version: string): boolean {
  const row = COMMANDS[command];
  if (!('fixedReplyFrom' in row)) return true;
  const [major] = row.fixedReplyFrom;
  return major > 0 && isAtLeast(version, row.fixedReplyFrom) !== true;
}

/** Whether a reply that fails may stop a worker on Redis for good. */
export function canHarm(command: AskedCommand, version: string): boolean {
  return canFail(command, version) && isAtLeast(version, FAILED_REPLY_HARMLESS_FROM) !== true;
}
