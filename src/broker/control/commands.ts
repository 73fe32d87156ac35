/**
 * The table of remote-control commands that are ever sent (Celery: worker/control.py), each with its fixed arguments, and the release
 * from which its reply cannot fail. A wrong message can stop every worker that reads it, so nothing else is sent. It sends nothing itself.
 */
import type { Release } from '../../text/celery-version.ts';

interface CommandRow {
  readonly arguments: Readonly<Record<string, boolean>>;
  /** From which Celery on its reply depends on nothing that users write into settings, queues or tasks; absent: in none. */
  readonly fixedReplyFrom?: Release;
}

const ALWAYS: Release = [0, 0];

export const COMMANDS = {
  ping: { arguments: {}, fixedReplyFrom: ALWAYS },
  // It has settings of the connection, and what bootsteps add.
  stats: { arguments: {} },
  // It has the arguments of queues, consumers, bindings and exchanges.
  active_queues: { arguments: {} },
  // The arguments of tasks as text. Celery before 5.2 ignores it.
  active: { arguments: { safe: true }, fixedReplyFrom: [5, 2] },
  // The arguments of tasks as they are, so they are asked only if they are wanted, and rarely.
  reserved: { arguments: {} },
  scheduled: { arguments: {} },
  // The only one that changes anything, and only if it is asked for.
  enable_events: { arguments: {}, fixedReplyFrom: ALWAYS },
} as const satisfies Record<string, CommandRow>;

export type ControlCommand = keyof typeof COMMANDS;

/** Those that workers are asked unless others are named, as far as they cannot be harmed: regularly, the tasks they have after each gap. */
export const DEFAULT_COMMANDS = [
  'stats',
  'active_queues',
  'active',
] as const satisfies readonly ControlCommand[];

/** Off by default: a reply contains the arguments of tasks, which a worker may fail to encode. */
export const RISKY_COMMANDS = ['reserved', 'scheduled'] as const satisfies readonly ControlCommand[];
export type RiskyCommand = (typeof RISKY_COMMANDS)[number];

export const INSPECT_COMMANDS = [...DEFAULT_COMMANDS, ...RISKY_COMMANDS] as const;
export type InspectCommand = (typeof INSPECT_COMMANDS)[number];

/** `auto`: the default ones, of each worker those that cannot harm it. A list: these, of all workers; an empty one switches it off. */
export type InspectChoice = 'auto' | readonly InspectCommand[];

/** With what is asked before those, and what changes something. */
export type AskedCommand = ControlCommand;
