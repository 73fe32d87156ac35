/**
 * The remembered tasks, by id, bounded in number and in bytes. When the table is full, tasks that have ended are forgotten
 * first. But some that have just ended are kept, and the oldest unfinished task is evicted and counted instead: one that was
 * only sent, or one that a worker received, whichever kind takes more memory. It interprets no events.
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

/** If processes take more than an eighth of the bytes, most are forged: then tasks of evicted processes are removed first. */
const PROCESSES_PART = 8;
/** How many tasks each new run checks for evicted processes then. */
const CHECKED_PER_RUN = 4;
/**
 * How many tasks one call of `makeRoom` forgets at most. These free more memory than the largest task takes, so that events,
 * each of which calls it, keep the table within its bound.
 */
const FORGOTTEN_AT_ONCE = 50;
/** The most open runs, or waiting sendings, of one task; beyond it the oldest is dropped. */
const PER_TASK_MAX = 8;
/** How many free sendings are kept for reuse, at some 100 bytes: as many as wait for a held receipt after a burst. */
const FREE_SENDINGS_MAX = 25_000;
/**
 * Tasks that have just ended are kept up to this share of the table: a third if a task that was only sent would be evicted
 * instead, and an eighth if a received one would.
 */
const JUST_ENDED_PART = { sent: 3, received: 8 };

export class TaskTable {
  /** The bound on `bytes`. */
  readonly bytesMax: number;
  readonly #tasksMax: number;
  readonly #onForget: (task: Task) => void;
  readonly #listener: RunListener | undefined;
  /** The unfinished tasks: those only sent, and those received; the first is the one that has had no new run for longest. */
  readonly #sent = new TaskList();
  readonly #received = new TaskList();
  /** The tasks of which no more events are expected. */
  readonly #forgettable = new TaskList();
  readonly #numbers: TaskNumbers;
  /** Reused keys: of the task of an event, and of a task that is looked up. */
  readonly #key: TaskKey;
  readonly #soughtKey: TaskKey;
  readonly #byId: TaskIndex;
  /** Entries for reuse. A Pool drops objects when it is full, but each entry has a place that must be used again. */
  readonly #freeTasks: Task[] = [];
  readonly #freeRuns = new Pool<Run>();
  readonly #freeSendings = new Pool<Sending>(FREE_SENDINGS_MAX);
  /** How many entries were created. */
  #entries = 0;
  /** How many processes have runs in the table. */
  #instances = 0;
  /** The memory of the table in bytes, an upper estimate; it may exceed the bound until `makeRoom` returns true. */
  bytes = 0;
  /** How many tasks were forgotten for lack of room before they had ended. */
  evicted = 0;
  /** How many runs and sendings were dropped because their task had too many. */
  partsEvicted = 0;

  /**
   * @param onForget called just before a task is forgotten for lack of room
   * @param listener called for each task and run that is dropped without an end
   * @param hashSeed 32 secret bits, without which senders could make ids collide
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

  /** The task of an event; a new one if the id is not known. @param isSent whether the event is a `task-sent` */
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

  /** Notes that an event of the task has arrived, or that the task was counted as lost. */
  noteEvent(task: Task, listenedMs: number): void {
    this.#numbers.noteEvent(task.place, listenedMs);
  }

  /** When the last event of the task arrived, in listened time, ms. */
  lastEventMs(task: Task): number {
    return this.#numbers.lastEventMs(task.place);
  }

  idOf(task: Task): string {
    return task.text || this.#numbers.uuid(task.place);
  }

  /** Whether the task has had the event with this fingerprint; remembers the event if not. */
  isRepeat(task: Task, eventPrint: number): boolean {
    return this.#numbers.isRepeat(task.place, eventPrint);
  }

  /**
   * Forgets up to fifty tasks while the table takes too much memory; only one if it has held events, since applying those takes
   * long. No caller may keep a reference to a task across a call.
   * @returns whether the table is within its bound
   */
  makeRoom(listenedMs: number): boolean {
    let budget = FORGOTTEN_AT_ONCE;
    while (this.bytes > this.bytesMax && this.size > 0) {
      if (budget <= 0) return false;
      budget -= this.#leastNeeded(listenedMs)?.held === undefined ? 1 : FORGOTTEN_AT_ONCE;
      // A free entry must not keep texts in memory.
      this.#forgetOne(listenedMs)?.begin('');
    }
    return true;
  }

  /** Sets whether more events of the task are expected. */
  expectMore(task: Task, isExpected: boolean): void {
    if (task.forgettable === isExpected) this.#move(task, isExpected ? this.#received : this.#forgettable);
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

  /** Adds a new run to the task; if the task has too many, its oldest run is dropped. */
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
    // The task moves with each run, not with each event: a move writes to two other tasks, which are not in the CPU cache.
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

  /** Adds a sending to the task; if the task has too many, its oldest sending is dropped. */
  addSending(task: Task): Sending {
    if (task.sendings !== undefined && lengthOf(task.sendings) >= PER_TASK_MAX) {
      this.takeSending(task, task.sendings);
      this.partsEvicted += 1;
    }
    const sending = this.#freeSendings.take() ?? new Sending();
    task.sendings = appended(task.sendings, sending);
    return sending;
  }

  /** Removes a sending that no longer waits; its texts are freed, but its times may be read until the next one is added. */
  takeSending(task: Task, sending: Sending, isReceived = false): void {
    if (task.sendings === undefined) return;
    task.sendings = without(task.sendings, sending);
    sending.clear(isReceived);
    this.#freeSendings.give(sending);
  }

  /** Tasks of evicted processes cannot be followed, so they are forgotten first. */
  #giveUpOrphans(): void {
    for (let checked = 0; checked < CHECKED_PER_RUN; checked += 1) {
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

  /** Counts a run of the process, and the memory of the process with its first run. */
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

  /** An entry with a place of its own. */
  #newTask(): Task {
    this.#entries += 1;
    this.bytes += ENTRY_BYTES;
    return new Task(this.#entries - 1);
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

  /** The task to forget next. */
  #leastNeeded(listenedMs: number): Task | undefined {
    const over = this.#forgettable.oldest;
    const unfinished = this.#heavierUnfinished();
    if (over === undefined) return unfinished.oldest;
    // The sizes are compared first, since reading a task that was not used for long is slow.
    const { size, bytes } = this.#forgettable;
    const part = JUST_ENDED_PART[unfinished === this.#sent ? 'sent' : 'received'];
    if (size * part > this.#tasksMax || bytes * part > this.bytesMax) return over;
    const endedMs = this.lastEventMs(over);
    if (hasPassed(END_REPEATED_MS, endedMs, listenedMs)) return over;
    const { oldest } = unfinished;
    return oldest !== undefined && this.lastEventMs(oldest) < endedMs ? oldest : over;
  }

  /** The list of unfinished tasks that takes more memory. */
  #heavierUnfinished(): TaskList {
    const receivedBytes = this.#received.bytes + this.#instances * FORMER_PROCESS_BYTES;
    const isSent = this.#received.size === 0 || (this.#sent.bytes > receivedBytes && this.#sent.size > 0);
    return isSent ? this.#sent : this.#received;
  }
}
