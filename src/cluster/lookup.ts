/**
 * Answers questions about one task, worker or queue: the open runs and sendings of a task id, the tasks that a worker is
 * running, and the workers that consume a queue. It changes nothing.
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

/** `sent`: no worker has received the task. `doubtful`: no end of the run has arrived, and none is expected any more. */
export type OpenStage = 'sent' | 'scheduled' | 'waiting' | 'running' | 'doubtful';

/** A run that has not ended, or a sending that no worker has received. */
export interface OpenRun {
  readonly id: string;
  readonly task: string;
  /** `unknown` if not reported. */
  readonly queue: string;
  /** The nodename of the worker that has the run; '' for a sending. */
  readonly worker: string;
  readonly stage: OpenStage;
  /** How often the task had been retried before. */
  readonly retries: number;
  /** When the run or sending entered this stage, epoch ms; undefined if the reported time is implausible. */
  readonly sinceMs: number | undefined;
}

/** The runs that one worker is running. */
export interface RunningOn {
  /** How many there are. */
  readonly total: number;
  /** The oldest of them, at most as many as requested. */
  readonly oldest: readonly OpenRun[];
}

export interface Lookup {
  /** The runs of this task id that have not ended, and its sendings that no worker has received. */
  openRuns(id: string, now: Moment): readonly OpenRun[];
  /** The tasks that this worker is running. @param oldestMax how many of the oldest ones to return at most */
  runningOn(nodename: string, oldestMax: number, now: Moment): Steps<RunningOn>;
  /** The queues that this worker reported to consume; undefined if it reported none, or is not up. */
  queuesOf(nodename: string, now: Moment): readonly string[] | undefined;
  /** The nodenames of the workers that are up and reported to consume this queue; undefined if workers are not asked. */
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
      return task === undefined ? [] : openRunsOf(task, id, silentMs(task, now), at(now));
    },
    *runningOn(nodename, oldestMax, now) {
      let total = 0;
      let oldest: OpenRun[] = [];
      const visit = (task: Task): void => {
        for (let run = task.runs; run !== undefined; run = run.next) {
          if (run.instance.nodename !== nodename) continue;
          if (expectationOfRun(run, task, silentMs(task, now), at(now)) !== 'running') continue;
          total += 1;
          oldest.push(openRun(run, tasks.idOf(task), 'running'));
        }
        // A worker may run far more tasks than are requested.
        if (oldest.length > 2 * oldestMax) oldest = oldestOf(oldest, oldestMax);
      };
      yield* tasks.walkUnfinished(TASKS_PER_STEP, visit);
      return { total, oldest: oldestOf(oldest, oldestMax) };
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

function openRunsOf(task: Task, id: string, silentMs: number, at: ExpectationMoment): readonly OpenRun[] {
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
    // A run that was lost, or replaced, is over.
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

function oldestOf(runs: readonly OpenRun[], max: number): OpenRun[] {
  const since = ({ sinceMs = Number.POSITIVE_INFINITY }: OpenRun): number => sinceMs;
  return runs.toSorted((one, other) => since(one) - since(other)).slice(0, max);
}
