/** Which commands of remote control workers are asked, in which order, and how often. It asks nothing. */
import { type AskedCommand, RISKY_COMMANDS, type RiskyCommand } from './commands.ts';
import type { ControlSettings } from './control.ts';

/** The questions of a round, in order: the one that a worker may fail to answer comes last. */
export function commandsOf({
  commands,
  enableEvents,
}: Pick<ControlSettings, 'commands' | 'enableEvents'>): readonly AskedCommand[] {
  const inOrder = [...commands.filter((command) => command !== 'stats'), ...commands.filter(isStats)];
  return enableEvents ? ['enable_events', ...inOrder] : inOrder;
}

/** The reply has whatever a worker was configured with, and numbers in a form that only JSON and pickle can encode. */
export function isStats(command: AskedCommand): command is 'stats' {
  return command === 'stats';
}

/** Why `stats` is not asked. */
export const UNENCODABLE =
  'a worker replies neither in JSON nor in pickle: it could not encode its reply, and on Redis up to Celery 5.6 it would stop for good; let task_serializer be json';

/** Asked once of each process. */
export type OnceCommand = 'active' | RiskyCommand | 'enable_events';

export function isOnce(command: AskedCommand): command is OnceCommand {
  return command === 'active' || command === 'enable_events' || isRisky(command);
}

export function isRisky(command: AskedCommand): command is RiskyCommand {
  return RISKY_COMMANDS.some((risky) => risky === command);
}
