/**
 * The tasks that are remembered, by uuid, with only what later events of them need. Bounded: beyond `tasksMax` the task
 * that was heard of longest ago is forgotten. Only forgetting what has not ended is a loss, and counted.
 */
import { createRecencyMap } from './recency-map.ts';

/** One execution of a task, from its `task-received` to its first end. */
export interface Run {
  /** The name it was received under; '' where that was not seen. */
  readonly name: string;
  /** Full nodename of the worker that has it. */
  readonly worker: string;
  /** By the worker's clock, ms since the epoch; undefined until it has started. */
  startedAtMs: number | undefined;
  /** The task has put another in its place (`replace`): nothing more will be told of this run. */
  replaced: boolean;
}

export interface Task {
  /** The name that was told last, by task-sent or task-received; '' until one was seen. */
  name: string;
  /** From task-sent; '' until it was seen. */
  queue: string;
  /** The runs that have not ended, oldest first. */
  readonly open: Run[];
  /** Its last end was final: another end without an open run repeats that one. */
  over: boolean;
  /** When its last end was, by the worker's clock; undefined before. The same end may be sent twice. */
  endedAtMs: number | undefined;
  /** A revocation of it was counted. */
  revoked: boolean;
}

export interface TaskTable {
  /** The task of that uuid, new and empty if it was not known. */
  task(uuid: string): Task;
  /** Begins a run of that task. */
  openRun(task: Task, name: string, worker: string): Run;
  size(): number;
  /** Tasks, and runs of them, forgotten for lack of room before they had ended. */
  evicted(): number;
}

/** More open runs of one task than this are deliveries whose ends were never told; the oldest is given up. */
const OPEN_RUNS_MAX = 8;

export function createTaskTable(tasksMax: number): TaskTable {
  const tasks = createRecencyMap<Task>();
  let evicted = 0;

  function evictOldest(): void {
    const task = tasks.takeOldest();
    if (task !== undefined && (task.open.length > 0 || !task.over)) evicted += 1;
  }

  return {
    task(uuid) {
      const known = tasks.use(uuid);
      if (known !== undefined) return known;
      if (tasks.size() >= tasksMax) evictOldest();
      const task: Task = {
        name: '',
        queue: '',
        open: [],
        over: false,
        endedAtMs: undefined,
        revoked: false,
      };
      tasks.add(uuid, task);
      return task;
    },
    openRun(task, name, worker) {
      if (task.open.length >= OPEN_RUNS_MAX) {
        task.open.shift();
        evicted += 1;
      }
      const run: Run = { name, worker, startedAtMs: undefined, replaced: false };
      task.open.push(run);
      return run;
    },
    size: () => tasks.size(),
    evicted: () => evicted,
  };
}
