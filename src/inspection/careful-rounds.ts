/**
 * Rounds of questions where one that a worker cannot answer stops it for good, as on Redis with kombu before 5.7: first who replies in
 * JSON, and with which settings, then only what is proven safe, by name. It also finds workers that went deaf, whoever asked them.
 */
import { commandsOf, isOnce, isRisky, type RoundCommand } from '../broker/control/asked-commands.ts';
import type { AskedCommand } from '../broker/control/commands.ts';
import type { Audience } from '../broker/control/control.ts';
import { type Destination, destinationsOf } from '../broker/control/request.ts';
import type { WorkerUp } from '../cluster/answers.ts';
import { runYielding } from '../yielding.ts';
import { Deafness } from './deafness.ts';
import { Evidence } from './evidence.ts';
import type { Outcome, Questioner } from './questioner.ts';
import { type InspectionOptions, isTooSoon, noteRisky, type Rounds } from './rounds.ts';

/** Workers that are asked one by one in a round, since their replies do not say whose they are. */
const SINGLE_MAX = 5;
const WATCH_MS = 2000;
const SUSPECT_WATCH_MS = 1000;
/** The watch takes no more than a fiftieth of the time. */
const WATCH_PART = 50;

type CountListeners = (signal: AbortSignal) => Promise<number | undefined>;

export class CarefulRounds implements Rounds {
  readonly #questioner: Questioner;
  readonly #options: InspectionOptions;
  readonly #countListeners: CountListeners;
  readonly #ending: AbortSignal;
  readonly #evidence = new Evidence();
  readonly #deafness = new Deafness();
  #audience: Audience | undefined;
  #up: readonly WorkerUp[] = [];
  #listeners = 0;
  #isShort = false;
  /** Of this round: the questions, and those that were asked. */
  #count = { put: 0, asked: 0 };
  /** Was asked for its statistics before others, and did not reply: it may have gone deaf. */
  #doubted: string | undefined;
  /** The same, and it did not. */
  #spared: string | undefined;

  constructor(
    questioner: Questioner,
    options: InspectionOptions,
    countListeners: CountListeners,
    ending: AbortSignal,
  ) {
    this.#questioner = questioner;
    this.#options = options;
    this.#countListeners = countListeners;
    this.#ending = ending;
  }

  async round(): Promise<boolean> {
    this.#count = { put: 0, asked: 0 };
    await this.#look();
    await this.#getToKnow();
    for (const command of commandsOf(this.#options)) {
      if (this.#ending.aborted) return false;
      if (isTooSoon(this.#options.memory, command)) continue;
      if (command === 'stats') await this.#askStats();
      else await this.#askAble(command);
    }
    // As long as nobody can be asked.
    if (this.#count.put === 0 && this.#audience?.mailboxes.size === 0 && !this.#ending.aborted)
      await this.#ping('everybody');
    for (const refusal of this.#evidence.newRefusals()) this.#options.onWithheld(refusal);
    if (this.#ending.aborted) return false;
    await this.#look();
    if (this.#audience !== undefined) this.#isShort ||= this.#deafness.isShort(this.#up, this.#audience);
    // Those that could be asked may all be left in peace.
    return this.#count.asked > 0 || this.#count.put === 0;
  }

  async watch(): Promise<number> {
    const beganMs = performance.now();
    const listeners = await this.#countListeners(this.#ending);
    if (this.#ending.aborted) return WATCH_MS;
    if (listeners !== undefined && listeners < this.#listeners) this.#isShort = true;
    this.#listeners = listeners ?? 0;
    const tookMs = performance.now() - beganMs;
    if (this.#isShort || this.#deafness.suspects.length > 0) await this.#callRoll();
    return this.#deafness.suspects.length > 0 ? SUSPECT_WATCH_MS : Math.max(WATCH_MS, WATCH_PART * tookMs);
  }

  /** In which form each worker replies, and its settings. */
  async #getToKnow(): Promise<void> {
    const unknown = this.#audience === undefined ? [] : this.#evidence.unknown();
    if (this.#audience === undefined) await this.#ping('everybody');
    else if (unknown.length > 0) await this.#ping(unknown);
    // They are said to be deaf until they reply.
    if (this.#deafness.deaf.length > 0) await this.#callRoll();
    const unsettled = this.#evidence.unsettled();
    if (unsettled.length === 0 || !commandsOf(this.#options).some(needsSettings)) return;
    for (const { replies } of await this.#askEach('conf', unsettled))
      for (const [nodename, settings] of replies.settings) this.#evidence.settings(nodename, settings);
  }

  async #ping(to: readonly string[] | 'everybody'): Promise<ReadonlySet<string>> {
    const outcomes = to === 'everybody' ? [await this.#put('ping', to)] : await this.#askEach('ping', to);
    const replied = new Set(outcomes.flatMap(({ replies }) => [...replies.replied]));
    const foreign = outcomes.reduce((sum, { replies }) => sum + replies.foreign, 0);
    const silent = (to === 'everybody' ? this.#evidence.unknown() : to).filter((each) => !replied.has(each));
    this.#evidence.pinged(silent);
    // One that replied shares its name with one that did so in another form.
    const isShared = foreign > silent.length;
    if (!isShared) for (const nodename of replied) this.#evidence.replies(nodename, 'json');
    if (foreign === 0) return replied;
    const others = await this.#whoIsForeign(isShared ? [...silent, ...replied] : silent, foreign);
    return new Set([...replied, ...others]);
  }

  /** @param among some replied in a form that cannot be read: how many */
  async #whoIsForeign(among: readonly string[], count: number): Promise<readonly string[]> {
    let foreign = among;
    if (count < among.length) {
      foreign = [];
      for (const nodename of among.slice(0, SINGLE_MAX)) {
        if (this.#ending.aborted) break;
        const { replies } = await this.#put('ping', [nodename]);
        if (replies.foreign > 0) foreign = [...foreign, nodename];
        else if (replies.replied.has(nodename)) this.#evidence.replies(nodename, 'json');
      }
    }
    for (const nodename of foreign) this.#evidence.replies(nodename, 'other');
    return foreign;
  }

  async #askAble(command: RoundCommand): Promise<void> {
    const to = isOnce(command) ? this.#evidence.due(command) : this.#evidence.able(command);
    if (to.length === 0) return;
    if (isRisky(command)) noteRisky(this.#options.memory, command);
    const outcomes = await this.#askEach(command, to);
    if (!isOnce(command)) return;
    this.#evidence.asked(command, to);
    for (const { replies } of outcomes)
      for (const nodename of replies.used) this.#evidence.done(command, nodename);
  }

  /** One worker before all others that were not asked before. */
  async #askStats(): Promise<void> {
    const { memory } = this.#options;
    if (memory.deafenedByStats !== undefined || this.#doubted !== undefined) return;
    const able = this.#evidence.able('stats');
    const untried = able.filter((nodename) => !this.#evidence.hasToldStats(nodename));
    const first = untried.find((nodename) => nodename !== this.#spared) ?? untried[0];
    if (first !== undefined && !(await this.#askForStats([first])).has(first)) {
      this.#doubted = first;
      this.#isShort = true;
    }
    const others = this.#doubted === undefined ? able : able.filter((each) => !untried.includes(each));
    await this.#askForStats(others.filter((nodename) => nodename !== first));
  }

  async #askForStats(to: readonly string[]): Promise<ReadonlySet<string>> {
    const replied = new Set<string>();
    for (const { replies } of await this.#askEach('stats', to))
      for (const nodename of replies.replied) {
        replied.add(nodename);
        this.#evidence.toldStats(nodename);
      }
    return replied;
  }

  /** Who replies, of all that should or that did not last time. */
  async #callRoll(): Promise<void> {
    await this.#look();
    const { now } = this.#options;
    const { suspects, deaf } = this.#deafness;
    const askedMs = now().listenedMs;
    const able = this.#up
      .map(({ nodename }) => nodename)
      .filter((each) => this.#audience?.mailboxes.has(each));
    const again = new Set([...suspects, ...deaf]);
    const called = this.#isShort ? able : able.filter((nodename) => again.has(nodename));
    const foreign = called.filter((nodename) => this.#evidence.isForeign(nodename));
    const readable = called.filter((nodename) => !foreign.includes(nodename));
    const replied = new Set(await this.#ping(readable));
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
    if (this.#doubted === undefined || this.#deafness.suspects.includes(this.#doubted)) return;
    this.#spared = this.#doubted;
    this.#doubted = undefined;
  }

  #noteDeaf(nodename: string, isDeaf: boolean): void {
    const { answers, memory, onDeaf, onWithheld } = this.#options;
    answers.workerDeaf(nodename, isDeaf);
    onDeaf(nodename, isDeaf);
    if (!isDeaf || nodename !== this.#doubted) return;
    memory.deafenedByStats = nodename;
    onWithheld({ worker: nodename, command: 'stats', why: { kind: 'deaf' } });
  }

  async #askEach(command: AskedCommand, to: readonly string[]): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const some of destinationsOf(to)) {
      if (this.#ending.aborted) break;
      outcomes.push(await this.#put(command, some));
    }
    return outcomes;
  }

  async #put(command: AskedCommand, to: Destination | 'everybody'): Promise<Outcome> {
    const up = this.#up.map(({ nodename }) => nodename);
    // Of several workers with one name, each has to show what it replies.
    const isShared =
      to !== 'everybody' && to.some((nodename) => up.indexOf(nodename) !== up.lastIndexOf(nodename));
    const isOpen = to === 'everybody' || isShared;
    const awaited = to === 'everybody' ? up : to;
    const known = this.#audience?.mailboxes;
    const expected = awaited.filter(
      (nodename) => up.includes(nodename) && (known === undefined || known.has(nodename)),
    );
    const outcome = await this.#questioner.put({ command, to, awaited, expected, isOpen });
    if (this.#ending.aborted) return outcome;
    if (outcome.audience !== undefined) {
      this.#audience = outcome.audience;
      this.#evidence.refresh(this.#up, outcome.audience.mailboxes);
    }
    this.#count.put += 1;
    if (outcome.asked.outcome !== 'failure') this.#count.asked += 1;
    this.#options.onAsked(outcome.asked);
    return outcome;
  }

  /** Who is up now. */
  async #look(): Promise<void> {
    const { answers, now, yieldToLoop } = this.#options;
    this.#up = await runYielding(yieldToLoop, answers.workersUp(now().listenedMs));
    this.#evidence.refresh(this.#up, this.#audience?.mailboxes);
  }
}

function needsSettings(command: RoundCommand): boolean {
  return command === 'stats' || command === 'active';
}
