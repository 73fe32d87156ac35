/**
 * The remembered tasks, by id. Bounded in number and in bytes. When it is full, tasks that have ended are forgotten
 * first; but some that have just ended are kept, and the oldest unfinished task is evicted and counted instead: one
 * only sent, or one received by a worker, whichever kind takes more memory.
 */

import { FORMER_PROCESS_BYTES } from '../measured-bytes.ts';
import type { RunIdentity } from '../observation.ts';
import { Pool } from '../pool.ts';
import type { Steps } from '../steps.ts';
import { END_REPEATED_MS, hasPassed } from '../window/lateness.ts';
import type { WorkerInstance } from '../workers/worker-instance.ts';
import { appended, find, lengthOf, without } from './chain.ts';
import { Run, Sending } from './run.ts';
import type { RunListener } from './run-listener.ts';
import { Task } from './task.ts';
import { TaskIndex } from './task-index.ts';
import { TaskKey } from './task-key.ts';
import { TaskList } from './task-list.ts';
import { TaskNumbers } from './task-numbers.ts';
import { bytesFor, ENTRY_BYTES, weightOf } from './task-weight.ts';

/** If processes take more than this part of the bytes, most are forged: then tasks of evicted processes are removed first. */
const PROCESSES_PART = 8;
const LOOKED_AT_PER_RUN = 4;
/** More than take the memory of the widest one, since each event makes room for its own. */
const FORGOTTEN_AT_ONCE = 50;
/** The most open runs, or waiting sendings, of one task; beyond it the oldest is dropped. */
const PER_TASK_MAX = 8;
/** As many as wait for a receipt in the reordering window after a burst, at some 100 bytes. */
const FREE_SENDINGS_MAX = 25_000;
/**
 * Tasks that have just ended are kept up to this share of the table: the first value when sent tasks would be evicted,
 * the second for received ones.
 */
const JUST_ENDED_PART = { sent: 3, received: 8 };

export class TaskTable {
  readonly bytesMax: number;
  readonly #tasksMax: number;
  readonly #onForget: (task: Task) => void;
  readonly #listener: RunListener | undefined;
  /** Unfinished tasks: those only sent, and those that a worker has received, the one without a new run for longest first. */
  readonly #sent = new TaskList();
  readonly #received = new TaskList();
  readonly #forgettable = new TaskList();
  readonly #numbers: TaskNumbers;
  readonly #key: TaskKey;
  readonly #soughtKey: TaskKey;
  readonly #byId: TaskIndex;
  /** Not a Pool, which drops objects when it is full: each entry has its own place. */
  readonly #freeTasks: Task[] = [];
  readonly #freeRuns = new Pool<Run>();
  readonly #freeSendings = new Pool<Sending>(FREE_SENDINGS_MAX);
  #made = 0;
  #instances = 0;
  /** An upper estimate; it may exceed the bound until `makeRoom` returns true. */
  bytes = 0;
  /** Tasks forgotten for lack of room before they had ended. */
  evicted = 0;
  /** Runs and sendings dropped because their task had too many. */
  partsEvicted = 0;

  /**
   * @param onForget called just before a task is forgotten for lack of room
   * @param listener is told what is dropped without an end
   * @param hashSeed 32 bits unknown to senders, who could make ids collide otherwise
   */
  constructor(
    tasksMax: number,
    onForget: (task: Task) => void = () => {},
    listener?: RunListener,
    hashSeed?: number,
  ) {
    this.#tasksMax = tasksMax;
    this.bytesMax = bytesFor(tasksMax);
    this.#onForget = onForget;
    this.#listener = listener;
    this.#numbers = new TaskNumbers(tasksMax);
    this.#key = new TaskKey(hashSeed);
    this.#soughtKey = new TaskKey(hashSeed);
    this.#byId = new TaskIndex(this.#numbers, this.#key);
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Visits the unfinished tasks, of each kind the oldest first, as `TaskList.walk` does. */
  *walkUnfinished(perStep: number, visit: (task: Task) => void): Steps {
    // In this order no task is visited twice: none moves from the first list to the second.
    yield* this.#received.walk(perStep, visit);
    yield* this.#sent.walk(perStep, visit);
  }

  /** The task of an event; a new one if it is not known. @param isSent whether it is a `task-sent`, and not a worker’s */
  task(id: string, listenedMs: number, isSent = false): Task {
    this.makeRoom(listenedMs);
    const key = this.#key.of(id);
    const task = this.#byId.find(key) ?? this.#add(key, listenedMs, isSent);
    this.noteEvent(task, listenedMs);
    return task;
  }

  /** The task, if it is known. */
  find(id: string): Task | undefined {
    return this.#byId.find(this.#soughtKey.of(id));
  }

  /** An event of the task has arrived, or it was lost. */
  noteEvent(task: Task, listenedMs: number): void {
    this.#numbers.note(task.place, listenedMs);
  }

  /** When the last event of the task arrived, in listened time, ms. */
  lastEventMs(task: Task): number {
    return this.#numbers.ms(task.place);
  }

  idOf(task: Task): string {
    return task.text || this.#numbers.uuid(task.place);
  }

  /** Whether the task has had the event with that fingerprint; remembers it if not. */
  isRepeat(task: Task, print: number): boolean {
    return this.#numbers.isRepeat(task.place, print);
  }

  /**
   * Forgets some tasks if there is no room for all, or only one that has held events: applying them takes long. No caller
   * may hold on to a task.
   * @returns whether the others fit
   */
  makeRoom(listenedMs: number): boolean {
    let left = FORGOTTEN_AT_ONCE;
    while (this.bytes > this.bytesMax && this.size > 0) {
      if (left <= 0) return false;
      left -= this.#leastNeeded(listenedMs)?.held === undefined ? 1 : FORGOTTEN_AT_ONCE;
      // A free entry must not keep texts in memory.
      this.#forgetOne(listenedMs)?.begin('');
    }
    return true;
  }

  /** Sets whether more events of the task are expected. */
  expectMore(task: Task, more: boolean): void {
    if (task.forgettable === more) this.#move(task, more ? this.#received : this.#forgettable);
  }

  /** Makes the task the first to be forgotten: no more events of it are likely. */
  giveUp(task: Task): void {
    if (task.forgettable) return;
    this.#listOf(task).remove(task);
    task.forgettable = true;
    this.#forgettable.prepend(task);
  }

  /** Recounts the task’s bytes; call it when its parts or texts have changed. */
  weigh(task: Task): void {
    const weight = weightOf(task);
    this.bytes += weight - task.weight;
    this.#listOf(task).weigh(task, weight);
  }

  openRun(task: Task, instance: WorkerInstance, identity: RunIdentity): Run {
    if (task.runs !== undefined && lengthOf(task.runs) >= PER_TASK_MAX) {
      this.#listener?.dropped(task, task.runs);
      this.closeRun(task, task.runs);
      this.partsEvicted += 1;
    }
    const run = this.#freeRuns.take() ?? new Run(instance, identity);
    run.begin(instance, identity);
    this.#hold(instance);
    task.runs = appended(task.runs, run);
    // Not with each event: a move touches two other tasks, which are not in the CPU cache.
    this.#move(task, this.#received);
    if (this.#instances * FORMER_PROCESS_BYTES * PROCESSES_PART > this.bytesMax) this.#giveUpOrphans();
    return run;
  }

  /** Moves the run to another process. */
  assign(run: Run, instance: WorkerInstance): void {
    if (run.instance === instance) return;
    this.#release(run.instance);
    this.#hold(instance);
    run.instance = instance;
  }

  /** Removes a run from the task; it may be read until the next run is opened. */
  closeRun(task: Task, run: Run): void {
    if (task.runs === undefined) return;
    task.runs = without(task.runs, run);
    this.#release(run.instance);
    this.#freeRuns.give(run);
  }

  addSending(task: Task): Sending {
    if (task.sendings !== undefined && lengthOf(task.sendings) >= PER_TASK_MAX) {
      this.takeSending(task, task.sendings);
      this.partsEvicted += 1;
    }
    const sending = this.#freeSendings.take() ?? new Sending();
    task.sendings = appended(task.sendings, sending);
    return sending;
  }

  /** Removes a sending that a worker has received; its texts are freed, its times may be read until the next one is added. */
  takeSending(task: Task, sending: Sending, isReceived = false): void {
    if (task.sendings === undefined) return;
    task.sendings = without(task.sendings, sending);
    sending.clear(isReceived);
    this.#freeSendings.give(sending);
  }

  /** Tasks of evicted processes cannot be followed, so they are forgotten first. */
  #giveUpOrphans(): void {
    for (let looked = 0; looked < LOOKED_AT_PER_RUN; looked += 1) {
      const task = this.#received.cycle();
      if (task?.runs === undefined || task.held !== undefined) continue;
      if (find(task.runs, ({ instance }) => instance.dropped !== 'evicted') === undefined) this.giveUp(task);
    }
  }

  #add(key: TaskKey, listenedMs: number, isSent: boolean): Task {
    if (this.size >= this.#tasksMax) this.#forgetOne(listenedMs);
    const task = this.#freeTasks.pop() ?? this.#newTask();
    task.begin(key.text);
    task.weight = weightOf(task);
    task.sent = isSent;
    this.bytes += task.weight;
    this.#numbers.begin(task.place, key);
    this.#byId.add(task);
    this.#listOf(task).append(task);
    return task;
  }

  #listOf(task: Task): TaskList {
    if (task.forgettable) return this.#forgettable;
    return task.sent ? this.#sent : this.#received;
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
    this.bytes += FORMER_PROCESS_BYTES;
  }

  #release(instance: WorkerInstance): void {
    instance.runs -= 1;
    if (instance.runs > 0) return;
    this.#instances -= 1;
    this.bytes -= FORMER_PROCESS_BYTES;
  }

  #newTask(): Task {
    this.#made += 1;
    this.bytes += ENTRY_BYTES;
    return new Task(this.#made - 1);
  }

  #forgetOne(listenedMs: number): Task | undefined {
    const task = this.#leastNeeded(listenedMs);
    if (task === undefined) return undefined;
    this.#onForget(task);
    this.#listener?.forget(task);
    if (!task.forgettable) this.evicted += 1;
    this.#listOf(task).remove(task);
    this.bytes -= task.weight;
    this.#byId.delete(task);
    while (task.runs !== undefined) this.closeRun(task, task.runs);
    while (task.sendings !== undefined) this.takeSending(task, task.sendings);
    this.#freeTasks.push(task);
    return task;
  }

  #leastNeeded(listenedMs: number): Task | undefined {
    const over = this.#forgettable.oldest;
    const unfinished = this.#crowd();
    if (over === undefined) return unfinished.oldest;
    // Sizes first: reading a task that was not used for long is slow.
    const { size, bytes } = this.#forgettable;
    const part = JUST_ENDED_PART[unfinished === this.#sent ? 'sent' : 'received'];
    if (size * part > this.#tasksMax || bytes * part > this.bytesMax) return over;
    const endedMs = this.lastEventMs(over);
    if (hasPassed(END_REPEATED_MS, endedMs, listenedMs)) return over;
    const { oldest } = unfinished;
    return oldest !== undefined && this.lastEventMs(oldest) < endedMs ? oldest : over;
  }

  /** The larger of the two kinds of unfinished tasks. */
  #crowd(): TaskList {
    const receivedBytes = this.#received.bytes + this.#instances * FORMER_PROCESS_BYTES;
    const isSent = this.#received.size === 0 || (this.#sent.bytes > receivedBytes && this.#sent.size > 0);
    return isSent ? this.#sent : this.#received;
  }
}
