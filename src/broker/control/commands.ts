/**
 * The table of remote-control commands that are ever sent (Celery: worker/control.py), each with its fixed arguments. A
 * wrong message can stop every worker that reads it, so nothing else is sent. It sends nothing itself.
 */

interface CommandRow {
  readonly arguments: Readonly<Record<string, boolean>>;
}

export const COMMANDS = {
  ping: { arguments: {} },
  // Values that JSON cannot encode come as text, so this reply cannot fail. With the defaults, all keys have their new names.
  conf: { arguments: { with_defaults: true } },
  stats: { arguments: {} },
  active_queues: { arguments: {} },
  // The arguments of tasks as text: where JSON cannot encode them, the reply would fail, and on Redis end the worker’s
  // remote control (Celery up to 5.6).
  active: { arguments: { safe: true } },
  // These have no such way, so they are asked only if they are wanted, and rarely.
  reserved: { arguments: {} },
  scheduled: { arguments: {} },
  // The only one that changes anything, and only if it is asked for.
  enable_events: { arguments: {} },
} as const satisfies Record<string, CommandRow>;

export type ControlCommand = keyof typeof COMMANDS;

/** Those that workers are asked with regularly (the tasks they have: after each gap), unless they are switched off. */
export const SAFE_COMMANDS = [
  'stats',
  'active_queues',
  'active',
] as const satisfies readonly ControlCommand[];

/** Off by default: a reply contains the arguments of tasks, which a worker may fail to encode. */
export const RISKY_COMMANDS = ['reserved', 'scheduled'] as const satisfies readonly ControlCommand[];
export type RiskyCommand = (typeof RISKY_COMMANDS)[number];

export const INSPECT_COMMANDS = [...SAFE_COMMANDS, ...RISKY_COMMANDS] as const;
export type InspectCommand = (typeof INSPECT_COMMANDS)[number];

/** With what is asked before those, of a worker that a question could stop, and what changes something. */
export type AskedCommand = InspectCommand | 'ping' | 'conf' | 'enable_events';
