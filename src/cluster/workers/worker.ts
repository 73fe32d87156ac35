/** One worker with its processes, and which of them sent an event. It decides nothing else. */

import type { PoolKind, WorkerVersion } from '../observation.ts';
import { HeartbeatRhythms } from './heartbeat-rhythm.ts';
import type { WorkerInstance } from './worker-instance.ts';

export class Worker {
  readonly nodename: string;
  /** In order of their start; more than one after a restart, or if workers share a name. */
  instances: readonly WorkerInstance[] = [];
  /** The pid of the process that was dropped last. */
  droppedPid: number | undefined = undefined;
  /** The kind of its pool, as it reported by remote control; undefined before. */
  pool: PoolKind | undefined = undefined;
  /** `worker-appeared` was observed. */
  hasAppeared = false;
  /** A process of it has exited, and `worker-returned` was not observed since. */
  hasLeft = false;
  /** As reported: first the current one, then former ones. */
  versions: readonly WorkerVersion[] = [];
  /** Of its processes, by pid. */
  readonly rhythms = new HeartbeatRhythms();
  /** Its neighbours in the order of their last events. */
  older: Worker | undefined = undefined;
  newer: Worker | undefined = undefined;

  constructor(nodename: string) {
    this.nodename = nodename;
  }
}

/** Per worker; each one beyond replaces the oldest. */
const VERSIONS_MAX = 4;

/** The newest process with that pid. */
export function processOf({ instances }: Worker, pid: number): WorkerInstance | undefined {
  const last = instances[instances.length - 1];
  // The usual case.
  return last?.pid === pid ? last : instances.findLast((instance) => instance.pid === pid);
}

/**
 * Adds a new process. Processes are ordered by their first event, since clocks may be adjusted. But a late event of a
 * dropped process must not be attributed to its successor.
 */
export function addProcess(worker: Worker, instance: WorkerInstance): void {
  const { instances, droppedPid } = worker;
  const isBefore = ({ pid, firstReportedMs }: WorkerInstance): boolean =>
    instance.pid !== droppedPid || pid === droppedPid || firstReportedMs <= instance.firstReportedMs;
  const at = instances.findLastIndex(isBefore) + 1;
  instance.hasExited = at < instances.length;
  worker.instances = instances.toSpliced(at, 0, instance);
}

/** Notes the version that the newest process reported. */
export function noteVersion(worker: Worker): void {
  const { version = '', system = '' } = worker.instances.at(-1) ?? {};
  const [present] = worker.versions;
  if (version === '' || (present?.version === version && present.system === system)) return;
  const former = worker.versions.filter((known) => known.version !== version || known.system !== system);
  worker.versions = [{ version, system }, ...former].slice(0, VERSIONS_MAX);
}

/** Whether several processes send with this pid, so that the sender is unknown, or only one does again, the newest. */
export function share(worker: Worker, pid: number, isShared: boolean): void {
  const those = isShared
    ? worker.instances.filter((instance) => instance.pid === pid)
    : [processOf(worker, pid)];
  for (const instance of those) instance?.share(isShared);
}
