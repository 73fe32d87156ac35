/**
 * Runs rounds of commands: first a ping to learn who replies, then the commands for each worker, by nodename. On Redis,
 * where a failed reply may stop a worker for good (“deaf”), one worker gets a command before the others, and deaf
 * workers are detected, whichever client caused it. asked-workers.ts decides which worker gets which command.
 */
import { commandsOf, isOnce, isRisky, type RoundCommand } from '../../broker/control/asked-commands.ts';
import type { AskedCommand } from '../../broker/control/commands.ts';
import type { Audience } from '../../broker/control/control.ts';
import { type Destination, destinationsOf } from '../../broker/control/request.ts';
import type { WorkerUp } from '../../cluster/answers.ts';
import { runCooperatively } from '../../timing/cooperative.ts';
import { AskedWorkers } from './asked-workers.ts';
import { Deafness } from './deafness.ts';
import type { InspectionMemory, InspectionOptions } from './inspection-options.ts';
import type { Questioner, QuestionOutcome } from './questioner.ts';

/**
 * If the broker does not report who listens, a ping goes to all workers every this many rounds, which finds workers
 * without heartbeats.
 */
const OPEN_ROUNDS = 4;
/** How many workers are pinged one by one in a round, since unreadable replies do not identify them. */
const SINGLE_MAX = 5;
/** The usual time between two counts of the listeners. */
const WATCH_MS = 2000;
/** The same, while a worker is suspected to be deaf. */
const SUSPECT_WATCH_MS = 1000;
/** Counting the listeners takes at most a fiftieth of the time. */
const WATCH_PART = 50;
/** The shortest time between two questions with the same risky command, however often the connection is lost. */
const RISKY_INTERVAL_MS = 60_000;

export type CountListeners = (signal: AbortSignal) => Promise<number | undefined>;

/** Which workers replied to a ping, and whether a late reply to an earlier command arrived in the meantime. */
interface PingResult {
  readonly replied: ReadonlySet<string>;
  readonly hasLate: boolean;
}

export class Rounds {
  readonly #questioner: Questioner;
  readonly #options: InspectionOptions;
  readonly #countListeners: CountListeners | undefined;
  readonly #ending: AbortSignal;
  readonly #commands: readonly RoundCommand[];
  readonly #workers: AskedWorkers;
  readonly #deafness = new Deafness();
  /** How many rounds are over. */
  #rounds = 0;
  #audience: Audience | undefined;
  /** The workers that replied to the last ping of all; only if the broker does not report who listens. */
  #repliedToAll: ReadonlySet<string> | undefined;
  #up: readonly WorkerUp[] = [];
  /** The nodenames that are up, and those that several workers share. */
  #names = { up: new Set<string>(), shared: new Set<string>() };
  /** How many clients listened at the last count. */
  #listeners = 0;
  /** Whether fewer workers listen than should, so that the next roll call pings all. */
  #isShort = false;
  /** The commands of this round: how many were tried, and how many of them could be sent. */
  #sent = { tried: 0, sent: 0 };
  /** The worker that got a command before the others and has not replied since: it may be deaf. */
  #trialSuspect: { readonly nodename: string; readonly command: RoundCommand } | undefined;
  /** The last such worker that turned out not to be deaf; another one is tried first next time. */
  #clearedWorker: string | undefined;

  /** @param countListeners only where a failed reply may stop a worker; undefined elsewhere */
  constructor(
    questioner: Questioner,
    options: InspectionOptions,
    countListeners: CountListeners | undefined,
    ending: AbortSignal,
  ) {
    this.#questioner = questioner;
    this.#options = options;
    this.#countListeners = countListeners;
    this.#ending = ending;
    this.#commands = commandsOf(options);
    const rules = {
      areConfigured: options.commands !== 'auto',
      canRepliesHarm: countListeners !== undefined,
    };
    this.#workers = new AskedWorkers({ ...rules, commands: this.#commands }, options.memory);
  }

  /** @returns whether any command could be sent, or none was due. Never rejects. */
  async round(): Promise<boolean> {
    this.#sent = { tried: 0, sent: 0 };
    await this.#readWorkersUp();
    await this.#pingUnknown();
    for (const command of this.#commands) {
      if (this.#ending.aborted) return false;
      if (!isTooSoon(this.#options.memory, command)) await this.#ask(command);
    }
    // With a ping, although no worker is listening: the result shows that.
    if (this.#sent.tried === 0 && this.#audience?.mailboxes.size === 0 && !this.#ending.aborted)
      await this.#ping('everybody');
    const { now, onSkipped, memory } = this.#options;
    if (this.#rounds === 0)
      for (const [command, worker] of memory.deafenedBy)
        onSkipped({ worker, commands: [command], why: { kind: 'deaf' } });
    for (const refusal of this.#workers.newRefusals(now().listenedMs)) onSkipped(refusal);
    if (this.#ending.aborted) return false;
    await this.#readWorkersUp();
    if (this.#audience !== undefined) this.#isShort ||= this.#deafness.isShort(this.#up, this.#audience);
    this.#rounds += 1;
    // No command may be due, if all listening workers are skipped.
    return this.#sent.sent > 0 || this.#sent.tried === 0;
  }

  /** Ends the session. The next one decides anew which workers are deaf, since they may have connected again. */
  end(): void {
    for (const nodename of this.#deafness.deaf) this.#noteDeaf(nodename, false);
  }

  /**
   * Checks between the rounds whether listeners have disappeared. Never rejects. @returns after how many ms it is due
   * again
   */
  async watch(countListeners: CountListeners): Promise<number> {
    const beganMs = performance.now();
    const listeners = await countListeners(this.#ending);
    if (this.#ending.aborted) return WATCH_MS;
    if (listeners !== undefined && listeners < this.#listeners) this.#isShort = true;
    this.#listeners = listeners ?? 0;
    const tookMs = performance.now() - beganMs;
    if (this.#isShort || this.#deafness.suspects.length > 0) await this.#callRoll();
    return this.#deafness.suspects.length > 0 ? SUSPECT_WATCH_MS : Math.max(WATCH_MS, WATCH_PART * tookMs);
  }

  /** Learns which workers reply, and in which form. */
  async #pingUnknown(): Promise<void> {
    const isOpen =
      this.#reachable() === undefined ||
      (this.#countListeners === undefined && this.#rounds % OPEN_ROUNDS === 0);
    if (isOpen) await this.#ping('everybody');
    const silent = isOpen ? [] : [...this.#workers.toPing(), ...this.#workers.withoutHeartbeats()];
    if (silent.length > 0) await this.#ping(silent);
    // Workers that were found deaf stay so until they reply, so they are pinged in each round.
    if (this.#deafness.watched.length > 0) await this.#callRoll();
  }

  async #ping(to: readonly string[] | 'everybody'): Promise<PingResult> {
    const outcomes = to === 'everybody' ? [await this.#send('ping', to)] : await this.#askEach('ping', to);
    const replied = new Set(outcomes.flatMap(({ replies }) => [...replies.replied]));
    const hasLate = outcomes.some(({ asked }) => (asked.replies.late ?? 0) > 0);
    if (to === 'everybody' && this.#countListeners === undefined && wereAsked(outcomes)) {
      this.#repliedToAll = replied;
      this.#refresh();
    }
    const known = to === 'everybody' ? this.#workers.foreign : 0;
    const foreign = Math.max(0, outcomes.reduce((sum, { replies }) => sum + replies.foreign, 0) - known);
    const silent = (to === 'everybody' ? this.#workers.unknown() : to).filter((each) => !replied.has(each));
    this.#workers.notePinged(silent);
    // A worker that replied shares its name with one that replied in another form; in a ping of all, an unknown worker
    // may have done so.
    const isShared = foreign > silent.length && (to !== 'everybody' || this.#countListeners !== undefined);
    if (!isShared) for (const nodename of replied) this.#workers.noteSerializer(nodename, 'json');
    if (foreign === 0) return { replied, hasLate };
    const others = await this.#findForeign(isShared ? [...silent, ...replied] : silent, foreign);
    return { replied: new Set([...replied, ...others]), hasLate };
  }

  /** Finds the workers that reply in an unreadable form. @param among the candidates @param count how many there are */
  async #findForeign(among: readonly string[], count: number): Promise<readonly string[]> {
    let foreign = among;
    if (count !== among.length) {
      foreign = [];
      for (const nodename of among.slice(0, SINGLE_MAX)) {
        if (this.#ending.aborted) break;
        const { replies } = await this.#send('ping', [nodename]);
        if (replies.foreign > 0) foreign = [...foreign, nodename];
        else if (replies.replied.has(nodename)) this.#workers.noteSerializer(nodename, 'json');
      }
    }
    for (const nodename of foreign) this.#workers.noteSerializer(nodename, 'other');
    return foreign;
  }

  /** If a failed reply may stop a worker, asks one that has not answered this command before, then the others. */
  async #ask(command: RoundCommand): Promise<void> {
    const due = this.#workers.due(command);
    const { onTrial = [], proven = [] } = Object.groupBy(due, (nodename) =>
      this.#workers.isOnTrial(nodename, command) ? 'onTrial' : 'proven',
    );
    const isBarred = this.#trialSuspect !== undefined || this.#options.memory.deafenedBy.has(command);
    const first = isBarred ? undefined : (onTrial.find((each) => each !== this.#clearedWorker) ?? onTrial[0]);
    if (first === undefined && proven.length === 0) return;
    if (isRisky(command)) this.#options.memory.riskyAskedMs.set(command, performance.now());
    const hasReplied = first === undefined || (await this.#askOf(command, [first])).has(first);
    const others = isBarred || !hasReplied ? proven : due.filter((nodename) => nodename !== first);
    await this.#askOf(command, others);
  }

  async #askOf(command: RoundCommand, to: readonly string[]): Promise<ReadonlySet<string>> {
    const outcomes = await this.#askEach(command, to);
    const replied = new Set(outcomes.flatMap(({ replies }) => [...replies.replied]));
    for (const nodename of replied) this.#workers.noteAnswer(command, nodename);
    if (isOnce(command)) {
      this.#workers.noteAsked(command, to);
      for (const { replies } of outcomes)
        for (const nodename of replies.used) this.#workers.noteDone(command, nodename);
    }
    const silent = to.filter((nodename) => !replied.has(nodename));
    if (silent.length > 0 && wereAsked(outcomes) && !this.#ending.aborted)
      await this.#findSilent(command, silent);
    return replied;
  }

  /** A worker that answers a ping after a command has finished that command. */
  async #findSilent(command: RoundCommand, silent: readonly string[]): Promise<void> {
    const { replied, hasLate } = await this.#ping(silent);
    if (this.#ending.aborted) return;
    for (const nodename of silent) {
      if (!replied.has(nodename)) this.#workers.noteSilence(nodename);
      else this.#workers.noteNoAnswer(nodename, command, hasLate);
    }
    const suspect = silent.find(
      (nodename) => !replied.has(nodename) && this.#workers.isOnTrial(nodename, command),
    );
    if (suspect === undefined) return;
    this.#trialSuspect = { nodename: suspect, command };
    this.#isShort = true;
  }

  /** Pings all workers that should reply, or only those that did not last time, and reports who is deaf. */
  async #callRoll(): Promise<void> {
    await this.#readWorkersUp();
    const { now } = this.#options;
    const { suspects, watched } = this.#deafness;
    const askedMs = now().listenedMs;
    const able = [...this.#names.up].filter((each) => this.#workers.mayBeDeaf(each));
    const again = new Set([...suspects, ...watched]);
    const called = this.#isShort ? able : able.filter((nodename) => again.has(nodename));
    const foreign = called.filter((nodename) => this.#workers.isForeign(nodename));
    const readable = called.filter((nodename) => !foreign.includes(nodename));
    const replied = new Set((await this.#ping(readable)).replied);
    for (const nodename of foreign) {
      const { replies } = await this.#send('ping', [nodename]);
      if (replies.foreign > 0) replied.add(nodename);
    }
    if (this.#ending.aborted) return;
    this.#isShort = false;
    await this.#readWorkersUp();
    const roll = { asked: new Set(called), replied, up: this.#up, audience: this.#audience };
    const verdict = this.#deafness.judge({ ...roll, askedMs, nowMs: now().listenedMs });
    for (const nodename of verdict.deaf) this.#noteDeaf(nodename, true);
    for (const nodename of verdict.recovered) this.#noteDeaf(nodename, false);
    if (this.#trialSuspect === undefined || this.#deafness.suspects.includes(this.#trialSuspect.nodename))
      return;
    this.#clearedWorker = this.#trialSuspect.nodename;
    this.#trialSuspect = undefined;
  }

  #noteDeaf(nodename: string, isDeaf: boolean): void {
    const { answers, memory, onDeaf, onSkipped } = this.#options;
    answers.workerDeaf(nodename, isDeaf);
    onDeaf(nodename, isDeaf);
    if (!isDeaf || nodename !== this.#trialSuspect?.nodename) return;
    const { command } = this.#trialSuspect;
    memory.deafenedBy.set(command, nodename);
    onSkipped({ worker: nodename, commands: [command], why: { kind: 'deaf' } });
  }

  async #askEach(command: AskedCommand, to: readonly string[]): Promise<readonly QuestionOutcome[]> {
    const outcomes: QuestionOutcome[] = [];
    for (const some of destinationsOf(to)) {
      if (this.#ending.aborted) break;
      outcomes.push(await this.#send(command, some));
    }
    return outcomes;
  }

  async #send(command: AskedCommand, to: Destination | 'everybody'): Promise<QuestionOutcome> {
    const { up, shared } = this.#names;
    // If several workers share a name, wait for the replies of all of them.
    const isOpen = to === 'everybody' || to.some((nodename) => shared.has(nodename));
    const awaited = to === 'everybody' ? [...up] : to;
    const known = this.#audience?.mailboxes;
    const expected = awaited.filter(
      (nodename) => up.has(nodename) && (known === undefined || known.has(nodename)),
    );
    const outcome = await this.#questioner.put({ command, to, awaited, expected, isOpen });
    if (this.#ending.aborted) return outcome;
    if (outcome.audience !== undefined) {
      this.#audience = outcome.audience;
      this.#refresh();
    }
    this.#sent.tried += 1;
    if (outcome.asked.outcome !== 'failure') this.#sent.sent += 1;
    this.#options.onAsked(outcome.asked);
    return outcome;
  }

  /** Reads which workers are up now. */
  async #readWorkersUp(): Promise<void> {
    const { answers, now, yieldToLoop } = this.#options;
    this.#up = await runCooperatively(yieldToLoop, answers.workersUp(now().listenedMs));
    this.#names = { up: new Set(), shared: new Set() };
    const { up, shared } = this.#names;
    for (const { nodename } of this.#up) (up.has(nodename) ? shared : up).add(nodename);
    this.#refresh();
  }

  #refresh(): void {
    this.#workers.refresh(this.#up, this.#reachable());
  }

  /** The nodenames that are listening; undefined before the first command. */
  #reachable(): ReadonlySet<string> | undefined {
    if (this.#countListeners !== undefined) return this.#audience?.mailboxes;
    return this.#repliedToAll && new Set([...this.#repliedToAll, ...this.#names.up]);
  }
}

function wereAsked(outcomes: readonly QuestionOutcome[]): boolean {
  return outcomes.every(({ asked }) => asked.outcome !== 'failure');
}

function isTooSoon({ riskyAskedMs }: InspectionMemory, command: AskedCommand): boolean {
  if (!isRisky(command)) return false;
  const askedMs = riskyAskedMs.get(command) ?? Number.NEGATIVE_INFINITY;
  return performance.now() - askedMs < RISKY_INTERVAL_MS;
}
