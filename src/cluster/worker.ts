/** One worker with its processes, and which of them sent an event. It decides nothing else. */
import { hasPassed, LATE_EVENTS_MS } from './lateness.ts';
import type { WorkerVersion } from './observation.ts';
import type { WorkerInstance } from './worker-instance.ts';

export interface Worker {
  readonly nodename: string;
  /** In order of their start; more than one after a restart, or if workers share a name. */
  instances: readonly WorkerInstance[];
  /** The queue it consumes if there is only one, known by remote control; '' otherwise. */
  onlyQueue: string;
  /** `worker-appeared` was observed. */
  hasAppeared: boolean;
  /** As it reported them, first the current one, then former ones. */
  versions: readonly WorkerVersion[];
}

/** Celery names clients `gen<pid>@<host>` (kombu and celery: utils/nodenames.py); they are no workers. */
const CLIENT = /^gen\d+@/u;
/** Per worker; each one beyond replaces the oldest. */
const VERSIONS_MAX = 4;

export function isClient(nodename: string): boolean {
  return CLIENT.test(nodename);
}

export function newWorker(nodename: string): Worker {
  return { nodename, instances: [], onlyQueue: '', hasAppeared: false, versions: [] };
}

/** The newest process with that pid. */
export function processOf({ instances }: Worker, pid: number): WorkerInstance | undefined {
  const last = instances[instances.length - 1];
  // The usual case.
  return last?.pid === pid ? last : instances.findLast((instance) => instance.pid === pid);
}

/** Adds a new process. A late event of a process that is gone must not seem to be its successor’s. */
export function addProcess(worker: Worker, instance: WorkerInstance): void {
  const { instances } = worker;
  const at = instances.findLastIndex((other) => other.firstSentAtMs <= instance.firstSentAtMs) + 1;
  // It may have exited long ago.
  instance.hasExited = instance.seemsLate = at < instances.length;
  worker.instances = instances.toSpliced(at, 0, instance);
}

/** Makes a process that seemed gone the newest if only it goes on: a clock is wrong, or our process was stalled. */
export function reorder(worker: Worker, instance: WorkerInstance, listenedMs: number): void {
  if (!instance.seemsLate || !hasPassed(LATE_EVENTS_MS, instance.firstSeenMs, listenedMs)) return;
  const others = worker.instances.filter((each) => each !== instance);
  // Pool solo is silent while it runs a task.
  const mayBeSilent = ({ runs, beatsWhileRunning }: WorkerInstance): boolean =>
    runs > 0 && !beatsWhileRunning;
  const isGone = (each: WorkerInstance): boolean =>
    !mayBeSilent(each) && hasPassed(LATE_EVENTS_MS, each.lastSeenMs, listenedMs);
  if (!others.every(isGone)) return;
  instance.seemsLate = instance.hasExited = false;
  instance.firstSentAtMs = instance.firstSeenMs;
  worker.instances = [...others, instance];
}

/** Notes the version that the newest process reported. */
export function noteVersion(worker: Worker): void {
  const { version = '', system = '' } = worker.instances.at(-1) ?? {};
  const [present] = worker.versions;
  if (version === '' || (present?.version === version && present.system === system)) return;
  const former = worker.versions.filter((known) => known.version !== version || known.system !== system);
  worker.versions = [{ version, system }, ...former].slice(0, VERSIONS_MAX);
}
