/**
 * The tasks that are remembered, by uuid. Bounded in number and in bytes. Where there is no room, what is over is forgotten
 * first; but of what has just ended some stays, and instead the oldest goes of those that were only sent or of those that
 * have run, of whichever there is more, which is counted as a loss.
 */
import { appended, find, lengthOf, without } from './chain.ts';
import { Fingerprints } from './fingerprint.ts';
import type { FinishedRuns } from './finished-runs.ts';
import { LastHeard } from './last-heard.ts';
import { END_REPEATED_MS, hasPassed } from './lateness.ts';
import { FORMER_PROCESS_BYTES } from './measured-bytes.ts';
import type { RunIdentity } from './observation.ts';
import { Pool } from './pool.ts';
import { Run, Sending } from './run.ts';
import type { Steps } from './steps.ts';
import { Task } from './task.ts';
import { TaskList } from './task-list.ts';
import { bytesFor, ENTRY_BYTES, weightOf, weightOfNew } from './task-weight.ts';
import type { WorkerInstance } from './worker-instance.ts';

/** Beyond one in so many bytes for processes, most likely made up, tasks of those that were evicted are looked for. */
const PROCESSES_PART = 8;
const LOOKED_AT_PER_RUN = 4;
/** More open runs or waiting sendings of one task than this are deliveries that were never told on; the oldest goes. */
const PER_TASK_MAX = 8;
/** Tasks that have just ended take no more than one in so many places from those that have not ended. */
const JUST_ENDED_PART = 32;

export class TaskTable {
  readonly bytesMax: number;
  readonly #tasksMax: number;
  readonly #onForget: (task: Task) => void;
  readonly #finished: FinishedRuns | undefined;
  readonly #byUuid = new Map<string, Task>();
  /** Of which more is expected: that were only sent; and all others, the one of which no run has begun for longest first. */
  readonly #sent = new TaskList();
  readonly #begun = new TaskList();
  readonly #forgettable = new TaskList();
  readonly #fingerprints: Fingerprints;
  readonly #lastHeard: LastHeard;
  /** No pool, which drops what it has too many of: each has a place of its own. */
  readonly #freeTasks: Task[] = [];
  readonly #freeRuns = new Pool<Run>();
  readonly #freeSendings = new Pool<Sending>();
  #made = 0;
  #bytes = 0;
  #instances = 0;
  #evicted = 0;
  #partsEvicted = 0;

  /**
   * @param onForget told of a task that is still whole, just before it is forgotten for lack of room
   * @param finished what it keeps of runs is weighed with their tasks
   */
  constructor(tasksMax: number, onForget: (task: Task) => void = () => {}, finished?: FinishedRuns) {
    this.#tasksMax = tasksMax;
    this.bytesMax = bytesFor(tasksMax);
    this.#onForget = onForget;
    this.#finished = finished;
    this.#fingerprints = new Fingerprints(tasksMax);
    this.#lastHeard = new LastHeard(tasksMax);
  }

  /** Tasks remembered. */
  get size(): number {
    return this.#byUuid.size;
  }

  /** What it holds in memory, at most; more than its bound by what has come since room was made. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Tasks forgotten for lack of room before they had ended. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Runs and sendings that were given up because their task had too many. */
  get partsEvicted(): number {
    return this.#partsEvicted;
  }

  /** Those of which more is expected; of each kind the oldest first. */
  readonly unfinished: Pick<TaskList, 'walk'> = {
    walk: (perStep, visit) => this.#walk(perStep, visit),
  };

  /** The task of that uuid, of which a worker tells; a new and empty one if it was not known. */
  task(uuid: string, listenedMs: number): Task {
    return this.#find(uuid, listenedMs, this.#begun);
  }

  /** The same, of which whoever sent it tells. */
  sentTask(uuid: string, listenedMs: number): Task {
    return this.#find(uuid, listenedMs, this.#sent);
  }

  /** When something was last told of the task, in listened time, ms. */
  lastHeardMs(task: Task): number {
    return this.#lastHeard.ms(task.place);
  }

  /** Whether the task has had the event with that fingerprint; remembers it if not. */
  isRepeat(task: Task, print: number): boolean {
    return this.#fingerprints.isRepeat(task.place, print);
  }

  /** Forgets tasks until the others fit in its bytes; nobody may be about to change one. */
  makeRoom(listenedMs: number): void {
    // An entry that is not taken at once must keep no text in memory.
    while (this.#bytes > this.bytesMax && this.size > 0) this.#forgetOne(listenedMs)?.begin('');
  }

  /** Says whether more is expected of the task. */
  expectMore(task: Task, more: boolean): void {
    if (task.forgettable === more) this.#move(task, more ? this.#begun : this.#forgettable);
  }

  /** Says that nothing has come of the task for so long that no other is to be forgotten before it. */
  giveUp(task: Task): void {
    if (task.forgettable) return;
    this.#listOf(task).remove(task);
    task.forgettable = true;
    this.#forgettable.prepend(task);
  }

  /** Counts anew what the task takes; to be called when parts or texts of it have changed. */
  weigh(task: Task): void {
    const weight = weightOf(task, this.#finished);
    this.#bytes += weight - task.weight;
    this.#listOf(task).weigh(task, weight);
  }

  /** Begins a run of the task, behind those it has. */
  openRun(task: Task, instance: WorkerInstance, identity: RunIdentity): Run {
    if (task.runs !== undefined && lengthOf(task.runs) >= PER_TASK_MAX) {
      this.closeRun(task, task.runs);
      this.#partsEvicted += 1;
    }
    const run = this.#freeRuns.take() ?? new Run(instance, identity);
    run.begin(instance, identity);
    this.#hold(instance);
    task.runs = appended(task.runs, run);
    // Not with each event: to move a task in its list touches two others, which are in no cache.
    this.#move(task, this.#begun);
    if (this.#instances * FORMER_PROCESS_BYTES * PROCESSES_PART > this.bytesMax) this.#giveUpOrphans();
    return run;
  }

  /** Another process has the run. */
  assign(run: Run, instance: WorkerInstance): void {
    if (run.instance === instance) return;
    this.#letGo(run.instance);
    this.#hold(instance);
    run.instance = instance;
  }

  /** Takes a run out of the task; it may be read until the next one is opened. */
  closeRun(task: Task, run: Run): void {
    if (task.runs === undefined) return;
    task.runs = without(task.runs, run);
    this.#letGo(run.instance);
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

  /** Takes a sending out of the task; its texts are gone, its times may be read until the next one is added. */
  takeSending(task: Task, sending: Sending): void {
    if (task.sendings === undefined) return;
    task.sendings = without(task.sendings, sending);
    sending.clear();
    this.#freeSendings.give(sending);
  }

  /** Whoever told of them cannot be followed, so they go before those whose worker is known. */
  #giveUpOrphans(): void {
    for (let looked = 0; looked < LOOKED_AT_PER_RUN; looked += 1) {
      const task = this.#begun.takeTurn();
      if (task?.runs === undefined || task.held !== undefined) continue;
      if (find(task.runs, ({ instance }) => instance.dropped !== 'evicted') === undefined) this.giveUp(task);
    }
  }

  #find(uuid: string, listenedMs: number, list: TaskList): Task {
    this.makeRoom(listenedMs);
    const task = this.#byUuid.get(uuid) ?? this.#add(uuid, listenedMs, list);
    this.#lastHeard.note(task.place, listenedMs);
    return task;
  }

  #add(uuid: string, listenedMs: number, list: TaskList): Task {
    if (this.size >= this.#tasksMax) this.#forgetOne(listenedMs);
    const task = this.#freeTasks.pop() ?? this.#newTask();
    task.begin(uuid);
    task.weight = weightOfNew(uuid);
    task.sent = list === this.#sent;
    this.#bytes += task.weight;
    this.#byUuid.set(uuid, task);
    list.append(task);
    return task;
  }

  /** First the others: what leaves them for the second list meanwhile is not visited twice. */
  *#walk(perStep: number, visit: (task: Task) => void): Steps {
    yield* this.#begun.walk(perStep, visit);
    yield* this.#sent.walk(perStep, visit);
  }

  #listOf(task: Task): TaskList {
    if (task.forgettable) return this.#forgettable;
    return task.sent ? this.#sent : this.#begun;
  }

  #move(task: Task, list: TaskList): void {
    this.#listOf(task).remove(task);
    task.forgettable = list === this.#forgettable;
    task.sent = false;
    list.append(task);
  }

  #hold(instance: WorkerInstance): void {
    instance.runs += 1;
    if (instance.runs > 1) return;
    this.#instances += 1;
    this.#bytes += FORMER_PROCESS_BYTES;
  }

  #letGo(instance: WorkerInstance): void {
    instance.runs -= 1;
    if (instance.runs > 0) return;
    this.#instances -= 1;
    this.#bytes -= FORMER_PROCESS_BYTES;
  }

  #newTask(): Task {
    this.#made += 1;
    this.#bytes += ENTRY_BYTES;
    return new Task(this.#made - 1);
  }

  #forgetOne(listenedMs: number): Task | undefined {
    const task = this.#leastNeeded(listenedMs);
    if (task === undefined) return undefined;
    this.#onForget(task);
    if (!task.forgettable) this.#evicted += 1;
    this.#listOf(task).remove(task);
    this.#bytes -= task.weight;
    this.#byUuid.delete(task.uuid);
    while (task.runs !== undefined) this.closeRun(task, task.runs);
    while (task.sendings !== undefined) this.takeSending(task, task.sendings);
    this.#fingerprints.clear(task.place);
    this.#freeTasks.push(task);
    return task;
  }

  #leastNeeded(listenedMs: number): Task | undefined {
    const over = this.#forgettable.oldest;
    if (over === undefined) return this.#oldestUnfinished();
    // In this order, since to look at a task that was not touched for long takes time.
    const { size, bytes } = this.#forgettable;
    if (size * JUST_ENDED_PART > this.#tasksMax || bytes * JUST_ENDED_PART > this.bytesMax) return over;
    const endedMs = this.lastHeardMs(over);
    if (hasPassed(END_REPEATED_MS, endedMs, listenedMs)) return over;
    const unfinished = this.#oldestUnfinished();
    return unfinished !== undefined && this.lastHeardMs(unfinished) < endedMs ? unfinished : over;
  }

  #oldestUnfinished(): Task | undefined {
    const begunBytes = this.#begun.bytes + this.#instances * FORMER_PROCESS_BYTES;
    return this.#sent.bytes > begunBytes
      ? (this.#sent.oldest ?? this.#begun.oldest)
      : (this.#begun.oldest ?? this.#sent.oldest);
  }
}
