/** What the processes of all workers share, and where they report their findings. Types only. */
import type { Observe } from '../observation.ts';
import type { Restart } from './stray-events.ts';

/** @typeParam Instance the process */
export interface InstanceContext<Instance> {
  /** How much later than an event an earlier one may arrive, ms. */
  readonly windowMs: number;
  readonly lostTimeoutMs: number;
  readonly observe: Observe;
  /** Called when an event arrives that may be earlier than one that was applied early, for lack of room. */
  readonly onDisorder: () => void;
  /** Called with the proof that another process has replaced the instance. */
  readonly onRestart: (instance: Instance, restart: Restart) => void;
}
