/** Which commands of remote control workers are asked, in which order, and how often. It asks nothing. */
import { type AskedCommand, type InspectCommand, RISKY_COMMANDS, type RiskyCommand } from './commands.ts';
import type { ControlSettings } from './control.ts';

/**
 * `stats` first: its reply alone says which process a worker is. Then the tasks in the order of their stages, against which none moves:
 * one that moves on between two questions is told twice, and not left out.
 */
const ORDER = [
  'stats',
  'active_queues',
  'scheduled',
  'reserved',
  'active',
] as const satisfies InspectCommand[];

/** The questions of a round, in order; one that any worker can answer comes before `stats`. */
export function commandsOf({
  commands,
  enableEvents,
}: Pick<ControlSettings, 'commands' | 'enableEvents'>): readonly AskedCommand[] {
  return [
    ...(enableEvents ? (['enable_events'] as const) : []),
    ...(commands.some(isStats) ? (['ping'] as const) : []),
    ...ORDER.filter((command) => commands.includes(command)),
  ];
}

/** The reply has whatever a worker was configured with, and numbers in a form that only JSON and pickle can encode. */
export function isStats(command: AskedCommand): command is 'stats' {
  return command === 'stats';
}

/** Why `stats` is not asked. */
export const UNENCODABLE =
  'a worker replies neither in JSON nor in pickle: it could not encode its reply, and on Redis up to Celery 5.6 it would stop for good; let task_serializer be json';

/** Asked once of each process. */
export type OnceCommand = 'ping' | 'active' | RiskyCommand | 'enable_events';

export function isOnce(command: AskedCommand): command is OnceCommand {
  return command === 'ping' || command === 'active' || command === 'enable_events' || isRisky(command);
}

export function isRisky(command: AskedCommand): command is RiskyCommand {
  return RISKY_COMMANDS.some((risky) => risky === command);
}
