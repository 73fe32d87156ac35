/**
 * Finds single things in the state of a cluster: the open runs and sendings of a task id, what a worker runs now, and which workers
 * consume a queue. It reads, and changes nothing.
 */
import type { Moment } from './moment.ts';
import {
  type ExpectationMoment,
  expectationOfRun,
  expectationOfSending,
  type RunExpectation,
} from './settling/run-expectation.ts';
import { inSteps, type Steps } from './steps.ts';
import type { Run } from './tasks/run.ts';
import type { Task } from './tasks/task.ts';
import type { LifeContext } from './tasks/task-life.ts';

/** `sent`: no worker has received it. `doubtful`: it has no end, and none is expected any more. */
export type OpenStage = 'sent' | 'scheduled' | 'waiting' | 'running' | 'doubtful';

/** A run that has not ended, or a sending that no worker has received. */
export interface OpenRun {
  readonly id: string;
  readonly task: string;
  /** `unknown` if not reported. */
  readonly queue: string;
  /** Nodename; '' for a sending. */
  readonly worker: string;
  readonly stage: OpenStage;
  readonly retries: number;
  /** Since when it is in that stage, epoch ms; undefined if the reported time is implausible. */
  readonly sinceMs: number | undefined;
}

export interface RunningOn {
  readonly total: number;
  /** At most as many as requested. */
  readonly oldest: readonly OpenRun[];
}

export interface Lookup {
  openRuns(id: string, now: Moment): readonly OpenRun[];
  runningOn(nodename: string, most: number, now: Moment): Steps<RunningOn>;
  /** The queues that it reported to consume; undefined if it reported none, or is not up. */
  queuesOf(nodename: string, now: Moment): readonly string[] | undefined;
  /** The nodenames of workers that are up and reported to consume the queue; undefined if no worker was asked. */
  consumersOf(queue: string, now: Moment): Steps<readonly string[] | undefined>;
}

const TASKS_PER_STEP = 1000;
const WORKERS_PER_STEP = 500;

/** @param isAsked whether workers are asked which queues they consume */
export function createLookup(
  context: Pick<LifeContext, 'tasks' | 'workers'>,
  isAsked: () => boolean,
): Lookup {
  const { tasks, workers } = context;
  const at = ({ wallMs, listenedMs }: Moment): ExpectationMoment => ({
    ...{ wallMs, listenedMs, session: workers.session },
  });
  const silentMs = (task: Task, { listenedMs }: Moment): number => listenedMs - tasks.lastEventMs(task);
  return {
    openRuns(id, now) {
      const task = tasks.find(id);
      return task === undefined ? [] : openOf(task, id, silentMs(task, now), at(now));
    },
    *runningOn(nodename, most, now) {
      let total = 0;
      let oldest: OpenRun[] = [];
      const visit = (task: Task): void => {
        for (let run = task.runs; run !== undefined; run = run.next) {
          if (run.instance.nodename !== nodename) continue;
          if (expectationOfRun(run, task, silentMs(task, now), at(now)) !== 'running') continue;
          total += 1;
          oldest.push(openRun(run, tasks.idOf(task), 'running'));
        }
        // All that run may be many.
        if (oldest.length > 2 * most) oldest = oldestOf(oldest, most);
      };
      yield* tasks.walkUnfinished(TASKS_PER_STEP, visit);
      return { total, oldest: oldestOf(oldest, most) };
    },
    queuesOf(nodename, { listenedMs }) {
      for (const worker of workers.all()) {
        if (worker.nodename !== nodename) continue;
        const up = worker.instances.filter((instance) => workers.isUp(worker, instance, listenedMs));
        const lists = up.flatMap(({ reported }) => (reported?.queues === undefined ? [] : [reported.queues]));
        return lists.length === 0 ? undefined : [...new Set(lists.flat())];
      }
      return undefined;
    },
    *consumersOf(queue, { listenedMs }) {
      if (!isAsked()) return undefined;
      const found: string[] = [];
      yield* inSteps(workers.all(), WORKERS_PER_STEP, (worker) => {
        const consumes = worker.instances.some(
          (instance) =>
            instance.reported?.queues?.includes(queue) === true && workers.isUp(worker, instance, listenedMs),
        );
        if (consumes) found.push(worker.nodename);
      });
      return found;
    },
  };
}

function openOf(task: Task, id: string, silentMs: number, at: ExpectationMoment): readonly OpenRun[] {
  const open: OpenRun[] = [];
  for (let sending = task.sendings; sending !== undefined; sending = sending.next) {
    const expectation = expectationOfSending(sending, task, silentMs, at);
    open.push({
      ...{ id, task: sending.name, queue: sending.queue, worker: '', retries: sending.retries },
      stage: expectation === 'none' ? 'doubtful' : expectation === 'scheduled' ? 'scheduled' : 'sent',
      sinceMs: sending.plausibleMs,
    });
  }
  for (let run = task.runs; run !== undefined; run = run.next) {
    // What was lost, or replaced, is over.
    if (!run.isExpected && run.standing !== 'doubted') continue;
    open.push(openRun(run, id, STAGES[expectationOfRun(run, task, silentMs, at)]));
  }
  return open;
}

const STAGES: Readonly<Record<RunExpectation, OpenStage>> = {
  running: 'running',
  waiting: 'waiting',
  scheduled: 'scheduled',
  endMissed: 'doubtful',
  leftBehind: 'doubtful',
  none: 'doubtful',
};

function openRun(run: Run, id: string, stage: OpenStage): OpenRun {
  const { task, queue, worker } = run.identity;
  return { id, task, queue, worker, stage, retries: run.retries, sinceMs: run.plausibleSinceMs };
}

function oldestOf(runs: readonly OpenRun[], most: number): OpenRun[] {
  const since = ({ sinceMs = Number.POSITIVE_INFINITY }: OpenRun): number => sinceMs;
  return runs.toSorted((one, other) => since(one) - since(other)).slice(0, most);
}
