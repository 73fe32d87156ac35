/** What one worker process told of itself by remote control. It holds data and decides nothing. */
import type { WorkerStats } from '../celery/control-reply.ts';

export interface Told {
  /** The last ones, and when they were told, in listened time, ms. */
  stats: WorkerStats | undefined;
  atMs: number;
  /** Those that it consumes; undefined if it did not tell. */
  queues: readonly string[] | undefined;
  /** The queue of all its tasks; '' if it consumes several, or did not tell. */
  onlyQueue: string;
  /** The tasks that it runs, and the number of the broker connection on which it told. */
  running: { readonly session: number; readonly uuids: ReadonlySet<string> } | undefined;
}

export function nothingTold(): Told {
  return { stats: undefined, atMs: 0, queues: undefined, onlyQueue: '', running: undefined };
}
