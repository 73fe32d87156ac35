/**
 * The table of remote-control commands that are ever sent (Celery: worker/control.py), each with its fixed arguments,
 * and the release from which its reply cannot fail. A malformed message can stop every worker that reads it, so nothing
 * else is sent. It sends nothing itself.
 */
import type { Release } from '../../text/celery-version.ts';

interface CommandRow {
  readonly arguments: Readonly<Record<string, boolean>>;
  /** The first Celery release whose reply contains no user-defined settings, queues or tasks; absent if there is none. */
  readonly fixedReplyFrom?: Release;
}

/** In every release, the reply contains nothing user-defined. */
const ALWAYS: Release = [0, 0];

export const COMMANDS = {
  ping: { arguments: {}, fixedReplyFrom: ALWAYS },
  // Contains connection settings, and what bootsteps add.
  stats: { arguments: {} },
  // Contains the arguments of queues, consumers, bindings and exchanges.
  active_queues: { arguments: {} },
  // `safe` requests the arguments of tasks as text. Celery before 5.2 ignores it.
  active: { arguments: { safe: true }, fixedReplyFrom: [5, 2] },
  // The replies of both contain the raw arguments of tasks, so the commands are sent only if configured, and rarely.
  reserved: { arguments: {} },
  scheduled: { arguments: {} },
  // The only command that changes anything; sent only if configured.
  enable_events: { arguments: {}, fixedReplyFrom: ALWAYS },
} as const satisfies Record<string, CommandRow>;

export type ControlCommand = keyof typeof COMMANDS;

/** Sent by default to workers that they cannot harm: `active` after each gap, the others regularly. */
export const DEFAULT_COMMANDS = [
  'stats',
  'active_queues',
  'active',
] as const satisfies readonly ControlCommand[];

/** Off by default: replies contain task arguments, which a worker may fail to encode. */
export const RISKY_COMMANDS = ['reserved', 'scheduled'] as const satisfies readonly ControlCommand[];
export type RiskyCommand = (typeof RISKY_COMMANDS)[number];

export const INSPECT_COMMANDS = [...DEFAULT_COMMANDS, ...RISKY_COMMANDS] as const;
export type InspectCommand = (typeof INSPECT_COMMANDS)[number];

/**
 * `auto`: the default commands, to each worker those that cannot harm it. A list: these commands, to all workers; an
 * empty list disables remote control.
 */
export type InspectChoice = 'auto' | readonly InspectCommand[];

/** Any command of the table: to inspect workers, `ping`, and `enable_events`, which changes something. */
export type AskedCommand = ControlCommand;
