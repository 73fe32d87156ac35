/**
 * Runs rounds of commands: first a ping to find out who replies, then the commands for each worker, by name. On Redis,
 * where a failed reply may stop a worker, one worker gets a command before the others, and deaf workers are detected,
 * whichever client caused it. Which question may be asked of whom is decided elsewhere.
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

/** If the broker does not report who listens, all workers are pinged every so many rounds, which finds those without heartbeats. */
const OPEN_ROUNDS = 4;
/** Workers that get a command one by one per round, since their replies do not identify them. */
const SINGLE_MAX = 5;
const WATCH_MS = 2000;
const SUSPECT_WATCH_MS = 1000;
/** Deafness checks take at most a fiftieth of the time. */
const WATCH_PART = 50;
/** Between two questions with one risky command, however often the connection is lost. */
const RISKY_INTERVAL_MS = 60_000;

export type CountListeners = (signal: AbortSignal) => Promise<number | undefined>;

/** Who replied to a ping, and whether a reply to an earlier command arrived in the meantime. */
interface Roll {
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
  #rounds = 0;
  #audience: Audience | undefined;
  /** If the broker does not report who listens: the workers that replied to the last ping of all. */
  #heard: ReadonlySet<string> | undefined;
  #up: readonly WorkerUp[] = [];
  /** Of those that are up, and of several that are up with one name. */
  #names = { up: new Set<string>(), shared: new Set<string>() };
  #listeners = 0;
  #isShort = false;
  /** In this round: the commands, and those that were sent. */
  #count = { put: 0, asked: 0 };
  /** It got the command before others, and has not replied since: it may have gone deaf. */
  #doubted: { readonly nodename: string; readonly command: RoundCommand } | undefined;
  /** The same, and it did not. */
  #spared: string | undefined;

  /** @param countListeners where a reply that fails may stop a worker; undefined elsewhere */
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
    const rules = { areNamed: options.commands !== 'auto', canHarm: countListeners !== undefined };
    this.#workers = new AskedWorkers({ ...rules, commands: this.#commands }, options.memory);
  }

  /** @returns whether any command could be sent. Never rejects. */
  async round(): Promise<boolean> {
    this.#count = { put: 0, asked: 0 };
    await this.#look();
    await this.#getToKnow();
    for (const command of this.#commands) {
      if (this.#ending.aborted) return false;
      if (!isTooSoon(this.#options.memory, command)) await this.#ask(command);
    }
    // While no worker is listening.
    if (this.#count.put === 0 && this.#audience?.mailboxes.size === 0 && !this.#ending.aborted)
      await this.#ping('everybody');
    const { now, onSkipped, memory } = this.#options;
    if (this.#rounds === 0)
      for (const [command, worker] of memory.deafenedBy)
        onSkipped({ worker, commands: [command], why: { kind: 'deaf' } });
    for (const refusal of this.#workers.newRefusals(now().listenedMs)) onSkipped(refusal);
    if (this.#ending.aborted) return false;
    await this.#look();
    if (this.#audience !== undefined) this.#isShort ||= this.#deafness.isShort(this.#up, this.#audience);
    this.#rounds += 1;
    // All listening workers may be skipped.
    return this.#count.asked > 0 || this.#count.put === 0;
  }

  /** The session ends: whether workers are deaf is judged anew in the next one, since they may have connected again. */
  end(): void {
    for (const nodename of this.#deafness.deaf) this.#noteDeaf(nodename, false);
  }

  /** What must be noticed sooner than with the next round. Never rejects. @returns after how many ms it is due again */
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

  /** Who replies, and in which form. */
  async #getToKnow(): Promise<void> {
    const isOpen =
      this.#reachable() === undefined ||
      (this.#countListeners === undefined && this.#rounds % OPEN_ROUNDS === 0);
    if (isOpen) await this.#ping('everybody');
    const silent = isOpen ? [] : [...this.#workers.toPing(), ...this.#workers.withoutHeartbeats()];
    if (silent.length > 0) await this.#ping(silent);
    // They are reported as deaf until they reply.
    if (this.#deafness.watched.length > 0) await this.#callRoll();
  }

  async #ping(to: readonly string[] | 'everybody'): Promise<Roll> {
    const outcomes = to === 'everybody' ? [await this.#put('ping', to)] : await this.#askEach('ping', to);
    const replied = new Set(outcomes.flatMap(({ replies }) => [...replies.replied]));
    const hasLate = outcomes.some(({ asked }) => (asked.replies.late ?? 0) > 0);
    if (to === 'everybody' && this.#countListeners === undefined && wereAsked(outcomes)) {
      this.#heard = replied;
      this.#refresh();
    }
    const known = to === 'everybody' ? this.#workers.foreign : 0;
    const foreign = Math.max(0, outcomes.reduce((sum, { replies }) => sum + replies.foreign, 0) - known);
    const silent = (to === 'everybody' ? this.#workers.unknown() : to).filter((each) => !replied.has(each));
    this.#workers.pinged(silent);
    // One that replied shares its name with one that did so in another form; of everybody, it may be one that is not known.
    const isShared = foreign > silent.length && (to !== 'everybody' || this.#countListeners !== undefined);
    if (!isShared) for (const nodename of replied) this.#workers.replies(nodename, 'json');
    if (foreign === 0) return { replied, hasLate };
    const others = await this.#whoIsForeign(isShared ? [...silent, ...replied] : silent, foreign);
    return { replied: new Set([...replied, ...others]), hasLate };
  }

  /** @param among some replied in a form that cannot be read: how many */
  async #whoIsForeign(among: readonly string[], count: number): Promise<readonly string[]> {
    let foreign = among;
    if (count !== among.length) {
      foreign = [];
      for (const nodename of among.slice(0, SINGLE_MAX)) {
        if (this.#ending.aborted) break;
        const { replies } = await this.#put('ping', [nodename]);
        if (replies.foreign > 0) foreign = [...foreign, nodename];
        else if (replies.replied.has(nodename)) this.#workers.replies(nodename, 'json');
      }
    }
    for (const nodename of foreign) this.#workers.replies(nodename, 'other');
    return foreign;
  }

  /** One worker before all others whose reply may stop them, if they have not replied before. */
  async #ask(command: RoundCommand): Promise<void> {
    const due = this.#workers.due(command);
    const { onTrial = [], proven = [] } = Object.groupBy(due, (nodename) =>
      this.#workers.isOnTrial(nodename, command) ? 'onTrial' : 'proven',
    );
    const isBarred = this.#doubted !== undefined || this.#options.memory.deafenedBy.has(command);
    const first = isBarred ? undefined : (onTrial.find((each) => each !== this.#spared) ?? onTrial[0]);
    if (first === undefined && proven.length === 0) return;
    if (isRisky(command)) this.#options.memory.riskyAskedMs.set(command, performance.now());
    const hasReplied = first === undefined || (await this.#askOf(command, [first])).has(first);
    const others = isBarred || !hasReplied ? proven : due.filter((nodename) => nodename !== first);
    await this.#askOf(command, others);
  }

  async #askOf(command: RoundCommand, to: readonly string[]): Promise<ReadonlySet<string>> {
    const outcomes = await this.#askEach(command, to);
    const replied = new Set(outcomes.flatMap(({ replies }) => [...replies.replied]));
    for (const nodename of replied) this.#workers.repliedTo(command, nodename);
    if (isOnce(command)) {
      this.#workers.asked(command, to);
      for (const { replies } of outcomes)
        for (const nodename of replies.used) this.#workers.done(command, nodename);
    }
    const silent = to.filter((nodename) => !replied.has(nodename));
    if (silent.length > 0 && wereAsked(outcomes) && !this.#ending.aborted)
      await this.#whyIsSilent(command, silent);
    return replied;
  }

  /** A worker that replies to a ping after a question has done with that question. */
  async #whyIsSilent(command: RoundCommand, silent: readonly string[]): Promise<void> {
    const { replied, hasLate } = await this.#ping(silent);
    if (this.#ending.aborted) return;
    for (const nodename of silent) {
      if (!replied.has(nodename)) this.#workers.isSilent(nodename);
      else this.#workers.didNotReply(nodename, command, hasLate);
    }
    const doubted = silent.find(
      (nodename) => !replied.has(nodename) && this.#workers.isOnTrial(nodename, command),
    );
    if (doubted === undefined) return;
    this.#doubted = { nodename: doubted, command };
    this.#isShort = true;
  }

  /** Who replies, of all that should or that did not last time. */
  async #callRoll(): Promise<void> {
    await this.#look();
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
      const { replies } = await this.#put('ping', [nodename]);
      if (replies.foreign > 0) replied.add(nodename);
    }
    if (this.#ending.aborted) return;
    this.#isShort = false;
    await this.#look();
    const roll = { asked: new Set(called), replied, up: this.#up, audience: this.#audience };
    const verdict = this.#deafness.judge({ ...roll, askedMs, nowMs: now().listenedMs });
    for (const nodename of verdict.deaf) this.#noteDeaf(nodename, true);
    for (const nodename of verdict.recovered) this.#noteDeaf(nodename, false);
    if (this.#doubted === undefined || this.#deafness.suspects.includes(this.#doubted.nodename)) return;
    this.#spared = this.#doubted.nodename;
    this.#doubted = undefined;
  }

  #noteDeaf(nodename: string, isDeaf: boolean): void {
    const { answers, memory, onDeaf, onSkipped } = this.#options;
    answers.workerDeaf(nodename, isDeaf);
    onDeaf(nodename, isDeaf);
    if (!isDeaf || nodename !== this.#doubted?.nodename) return;
    const { command } = this.#doubted;
    memory.deafenedBy.set(command, nodename);
    onSkipped({ worker: nodename, commands: [command], why: { kind: 'deaf' } });
  }

  async #askEach(command: AskedCommand, to: readonly string[]): Promise<readonly QuestionOutcome[]> {
    const outcomes: QuestionOutcome[] = [];
    for (const some of destinationsOf(to)) {
      if (this.#ending.aborted) break;
      outcomes.push(await this.#put(command, some));
    }
    return outcomes;
  }

  async #put(command: AskedCommand, to: Destination | 'everybody'): Promise<QuestionOutcome> {
    const { up, shared } = this.#names;
    // Of several workers with one name, each has to show what it replies.
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
    this.#count.put += 1;
    if (outcome.asked.outcome !== 'failure') this.#count.asked += 1;
    this.#options.onAsked(outcome.asked);
    return outcome;
  }

  /** Who is up now. */
  async #look(): Promise<void> {
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

  /** Who is listening; undefined before the first command. */
  #reachable(): ReadonlySet<string> | undefined {
    if (this.#countListeners !== undefined) return this.#audience?.mailboxes;
    return this.#heard && new Set([...this.#heard, ...this.#names.up]);
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
