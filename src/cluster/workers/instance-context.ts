/** The settings that the processes of all workers share, and the functions to which they report findings. Types only. */
import type { Observe } from '../observation.ts';
import type { Restart } from './stray-events.ts';

/** @typeParam Instance the class of worker processes */
export interface InstanceContext<Instance> {
  /** How much later than an event an earlier one may arrive, ms. */
  readonly windowMs: number;
  /** Longer silence proves the death of a process that used to send heartbeats while it ran tasks, ms. */
  readonly lostTimeoutMs: number;
  readonly observe: Observe;
  /** Called when an event arrives too late, since a later one was applied early for lack of room. */
  readonly onDisorder: () => void;
  /** Called with the proof that another process has replaced the instance. */
  readonly onRestart: (instance: Instance, restart: Restart) => void;
}
