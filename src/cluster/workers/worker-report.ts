/** The last replies of one worker process to remote control. It holds data and decides nothing. */
import type { WorkerStats } from '../../celery/control-reply.ts';

export type CpuTime = 'cpuUserS' | 'cpuSystemS';

export interface WorkerReport {
  /** The last reply to `stats`, and when it arrived: in listened time, ms, and epoch ms. */
  stats: WorkerStats | undefined;
  atMs: number;
  wallMs: number;
  /** The highest CPU times that the process has reported since its start, seconds. */
  highestCpuS: Record<CpuTime, number | undefined>;
  /** The queues that it consumes; undefined if not reported. */
  queues: readonly string[] | undefined;
  /** The only queue that it consumes; '' if it consumes several, or has not reported them. */
  onlyQueue: string;
  /** The ids of the tasks that it reported to run, and the number of the broker connection at that time; undefined if unknown. */
  running: { readonly session: number; readonly uuids: ReadonlySet<string> } | undefined;
}

export function nothingReported(): WorkerReport {
  const highestCpuS = { cpuUserS: undefined, cpuSystemS: undefined };
  return {
    stats: undefined,
    atMs: 0,
    wallMs: 0,
    highestCpuS,
    queues: undefined,
    onlyQueue: '',
    running: undefined,
  };
}
