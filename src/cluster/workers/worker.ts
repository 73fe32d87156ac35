/** One worker, which is everything that sends with one nodename, and its processes. It finds the process that sent an event. */

import type { PoolKind, WorkerVersion } from '../observation.ts';
import { HeartbeatRhythms } from './heartbeat-rhythm.ts';
import type { WorkerInstance } from './worker-instance.ts';

export class Worker {
  readonly nodename: string;
  /** Its processes in order of their start; more than one after a restart, or if several workers have the same nodename. */
  instances: readonly WorkerInstance[] = [];
  /** The pid of the process that was dropped last. */
  droppedPid: number | undefined = undefined;
  /** The kind of its pool, by remote control; undefined until it is reported. */
  pool: PoolKind | undefined = undefined;
  /** Whether `worker-appeared` was observed. */
  hasAppeared = false;
  /** Whether a process of it has exited, and `worker-returned` was not observed since. */
  hasLeft = false;
  /** The versions that it reported: first the current one, then former ones. */
  versions: readonly WorkerVersion[] = [];
  /** The rhythms of its heartbeats, which show whether processes share a pid. */
  readonly rhythms = new HeartbeatRhythms();
  /** The workers before and after it in the order of their last events. */
  older: Worker | undefined = undefined;
  newer: Worker | undefined = undefined;

  constructor(nodename: string) {
    this.nodename = nodename;
  }
}

/** The most remembered versions of a worker; each further one replaces the oldest. */
const VERSIONS_MAX = 4;

/** The newest process with that pid. */
export function processOf({ instances }: Worker, pid: number): WorkerInstance | undefined {
  const last = instances[instances.length - 1];
  // Usually the newest process sent the event.
  return last?.pid === pid ? last : instances.findLast((instance) => instance.pid === pid);
}

/**
 * Adds a new process, usually as the newest: processes are ordered by the arrival of their first events, since clocks may be
 * adjusted. But if the pid is that of a dropped process, the event may be a late one of it, and is placed by its timestamp.
 */
export function addProcess(worker: Worker, instance: WorkerInstance): void {
  const { instances, droppedPid } = worker;
  const isBefore = ({ pid, firstReportedMs }: WorkerInstance): boolean =>
    instance.pid !== droppedPid || pid === droppedPid || firstReportedMs <= instance.firstReportedMs;
  const at = instances.findLastIndex(isBefore) + 1;
  instance.hasExited = at < instances.length;
  worker.instances = instances.toSpliced(at, 0, instance);
}

/** Remembers the version that the newest process reported. */
export function noteVersion(worker: Worker): void {
  const { version = '', system = '' } = worker.instances.at(-1) ?? {};
  const [present] = worker.versions;
  if (version === '' || (present?.version === version && present.system === system)) return;
  const former = worker.versions.filter((known) => known.version !== version || known.system !== system);
  worker.versions = [{ version, system }, ...former].slice(0, VERSIONS_MAX);
}

/** Marks the processes with this pid as sharing it, so that no event has a certain sender; or the newest one as alone again. */
export function share(worker: Worker, pid: number, isShared: boolean): void {
  const affected = isShared
    ? worker.instances.filter((instance) => instance.pid === pid)
    : [processOf(worker, pid)];
  for (const instance of affected) instance?.share(isShared);
}
