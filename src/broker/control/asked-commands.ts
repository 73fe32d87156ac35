/** Which commands of remote control workers are asked, in which order, and how often. It asks nothing. */
import { type AskedCommand, type InspectCommand, RISKY_COMMANDS, type RiskyCommand } from './commands.ts';
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
  return [
    ...(enableEvents ? (['enable_events'] as const) : []),
    ...ORDER.filter((command) => commands.includes(command)),
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
