/** What one worker process reported about itself by remote control. It holds data and decides nothing. */
import type { WorkerStats } from '../../celery/control-reply.ts';

export type CpuTime = 'cpuUserS' | 'cpuSystemS';

export interface WorkerReport {
  /** The last ones, and when they were reported: in listened time, and epoch ms. */
  stats: WorkerStats | undefined;
  atMs: number;
  wallMs: number;
  /** The most CPU time that it reported since it started, s. */
  cpuMost: Record<CpuTime, number | undefined>;
  /** The queues that it consumes; undefined if not reported. */
  queues: readonly string[] | undefined;
  /** The queue of all its tasks; '' if it consumes several, or did not report them. */
  onlyQueue: string;
  /** The tasks that it is running, and the number of the broker connection on which it reported them. */
  running: { readonly session: number; readonly uuids: ReadonlySet<string> } | undefined;
}

export function nothingReported(): WorkerReport {
  const cpuMost = { cpuUserS: undefined, cpuSystemS: undefined };
  return {
    stats: undefined,
    atMs: 0,
    wallMs: 0,
    cpuMost,
    queues: undefined,
    onlyQueue: '',
    running: undefined,
  };
}
