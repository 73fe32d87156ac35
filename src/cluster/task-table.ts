/**
 * The tasks that are remembered, by uuid. Bounded: beyond `tasksMax` a task is forgotten, of those that are over the one
 * that has been so for longest, and only where there is none of those the unfinished one of which no run has begun for
 * longest, which is counted as a loss.
 */
import { appended, lengthOf, without } from './chain.ts';
import { Fingerprints } from './fingerprint.ts';
import type { RunIdentity } from './observation.ts';
import { Pool } from './pool.ts';
import { Run, Sending, Task } from './task.ts';
import { TaskList } from './task-list.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** More open runs or waiting sendings of one task than this are deliveries that were never told on; the oldest goes. */
const PER_TASK_MAX = 8;

export class TaskTable {
  readonly #tasksMax: number;
  readonly #onForget: (task: Task) => void;
  readonly #byUuid = new Map<string, Task>();
  readonly #unfinished = new TaskList();
  readonly #forgettable = new TaskList();
  readonly #fingerprints: Fingerprints;
  readonly #freeTasks = new Pool<Task>();
  readonly #freeRuns = new Pool<Run>();
  readonly #freeSendings = new Pool<Sending>();
  #made = 0;
  #evicted = 0;
  #partsEvicted = 0;

  /** @param onForget told of a task that is still whole, just before it is forgotten for lack of room */
  constructor(tasksMax: number, onForget: (task: Task) => void = () => {}) {
    this.#tasksMax = tasksMax;
    this.#onForget = onForget;
    this.#fingerprints = new Fingerprints(tasksMax);
  }

  /** Tasks remembered. */
  get size(): number {
    return this.#byUuid.size;
  }

  /** Tasks forgotten for lack of room before they had ended. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Runs and sendings that were given up because their task had too many. */
  get partsEvicted(): number {
    return this.#partsEvicted;
  }

  /** Those of which more is expected, the one of which no run has begun for longest first. */
  get unfinished(): Pick<TaskList, 'walk'> {
    return this.#unfinished;
  }

  /** The task of that uuid; a new and empty one if it was not known. */
  task(uuid: string): Task {
    const known = this.#byUuid.get(uuid);
    if (known !== undefined) return known;
    if (this.#byUuid.size >= this.#tasksMax) this.#forgetOne();
    const task = this.#freeTasks.take() ?? this.#newTask();
    task.begin(uuid);
    this.#byUuid.set(uuid, task);
    this.#unfinished.append(task);
    return task;
  }

  /** Whether the task has had the event with that fingerprint; remembers it if not. */
  isRepeat(task: Task, print: number): boolean {
    return this.#fingerprints.isRepeat(task.place, print);
  }

  /** Says whether more is expected of the task. */
  expectMore(task: Task, more: boolean): void {
    if (task.forgettable !== more) return;
    (more ? this.#forgettable : this.#unfinished).remove(task);
    task.forgettable = !more;
    (more ? this.#unfinished : this.#forgettable).append(task);
  }

  /** Begins a run of the task, behind those it has. */
  openRun(task: Task, instance: WorkerInstance, identity: RunIdentity): Run {
    if (task.runs !== undefined && lengthOf(task.runs) >= PER_TASK_MAX) {
      this.closeRun(task, task.runs);
      this.#partsEvicted += 1;
    }
    const run = this.#freeRuns.take() ?? new Run(instance, identity);
    run.begin(instance, identity);
    task.runs = appended(task.runs, run);
    // Not with each event: to move a task in its list touches two others, which are in no cache.
    const list = task.forgettable ? this.#forgettable : this.#unfinished;
    list.remove(task);
    list.append(task);
    return run;
  }

  /** Takes a run out of the task; it may be read until the next one is opened. */
  closeRun(task: Task, run: Run): void {
    if (task.runs === undefined) return;
    task.runs = without(task.runs, run);
    this.#freeRuns.give(run);
  }

  /** Adds an empty sending to the task, behind those it has. */
  addSending(task: Task): Sending {
    if (task.sendings !== undefined && lengthOf(task.sendings) >= PER_TASK_MAX) {
      this.takeSending(task, task.sendings);
      this.#partsEvicted += 1;
    }
    const sending = this.#freeSendings.take() ?? new Sending();
    task.sendings = appended(task.sendings, sending);
    return sending;
  }

  /** Takes a sending out of the task; it may be read until the next one is added. */
  takeSending(task: Task, sending: Sending): void {
    if (task.sendings === undefined) return;
    task.sendings = without(task.sendings, sending);
    this.#freeSendings.give(sending);
  }

  #newTask(): Task {
    this.#made += 1;
    return new Task(this.#made - 1);
  }

  #forgetOne(): void {
    const task = this.#forgettable.oldest ?? this.#unfinished.oldest;
    if (task === undefined) return;
    this.#onForget(task);
    if (!task.forgettable) this.#evicted += 1;
    (task.forgettable ? this.#forgettable : this.#unfinished).remove(task);
    this.#byUuid.delete(task.uuid);
    while (task.runs !== undefined) this.closeRun(task, task.runs);
    while (task.sendings !== undefined) this.takeSending(task, task.sendings);
    this.#fingerprints.clear(task.place);
    this.#freeTasks.give(task);
  }
}
