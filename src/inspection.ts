/**
 * Asks the workers of one Celery service for their state, regularly: which commands, which replies are expected, and what
 * becomes of them. How to ask is the transport’s, and what a reply means is decided where it is decoded.
 */

import type { RawMessage, Session } from './broker/broker.ts';
import {
  commandsOf,
  isOnce,
  isRisky,
  isStats,
  type OnceCommand,
  UNENCODABLE,
} from './broker/control/asked-commands.ts';
import type { AskedCommand, RiskyCommand } from './broker/control/commands.ts';
import type { ControlAnswer, ControlSettings, RedisReplies } from './broker/control/control.ts';
import type { Destination } from './broker/control/request.ts';
import { pause } from './broker/pause.ts';
import { ENDING_MS, type Rhythm, repeat } from './broker/rhythm.ts';
import {
  type ControlReply,
  readActive,
  readDone,
  readQueues,
  readReply,
  readReserved,
  readScheduled,
  readStats,
} from './celery/control-reply.ts';
import type { Implausible } from './celery/numeric-fields.ts';
import type { Answers } from './cluster/answers.ts';
import type { Moment } from './cluster/moment.ts';
import { reasonOf } from './errors.ts';
import { OncePerProcess } from './once-per-process.ts';
import type { ReplyOutcome, SelfEvent } from './self/self-event.ts';
import { runYielding, type YieldToLoop } from './yielding.ts';

export interface InspectionOptions extends ControlSettings, Rhythm {
  readonly redis: RedisReplies;
  /** Where facts go. */
  readonly answers: Pick<
    Answers,
    | 'session'
    | 'workersUp'
    | 'consumes'
    | 'workerTold'
    | 'workerRuns'
    | 'workerHas'
    | 'workersAsked'
    | 'keepQueues'
  >;
  readonly now: () => Moment;
  readonly yieldToLoop: YieldToLoop;
  /** When risky commands were asked last, in any session, by a monotonic clock. */
  readonly riskyAskedMs: Map<RiskyCommand, number>;
  readonly onAsked: (asked: Asked) => void;
  readonly onImplausible: (implausible: Implausible) => void;
}

/** What came of one question. */
export type Asked = Pick<
  SelfEvent<'workers-asked'>,
  'command' | 'outcome' | 'reason' | 'replies' | 'receivers'
>;

type Ask = NonNullable<Session['ask']>;

/** To connect, and to publish; the wait for replies comes on top. */
const ASKING_MS_MAX = 10_000;
/** Every so many rounds, nobody in particular is expected: that finds workers that send no heartbeats. */
const OPEN_ROUNDS = 4;
const NAMED_MAX = 5;
/** Between two questions with one risky command, however often the connection is lost. */
const RISKY_INTERVAL_MS = 60_000;

/** @returns stops asking, and takes back what is known, at once and whatever a question does */
export function startInspecting(session: Session, options: InspectionOptions): () => void {
  const ending = new AbortController();
  const ask = session.ask?.bind(session);
  if (ask !== undefined && commandsOf(options).length > 0) {
    const inspection = new Inspection(ask, options, ending.signal);
    // Soon: the ends of tasks that are running now have no names otherwise.
    void repeat({ ...options, isFirstSoon: true }, () => inspection.round(), ending.signal);
  }
  return () => {
    ending.abort();
    options.answers.workersAsked(undefined);
  };
}

/** The questions of one session. */
class Inspection {
  readonly #ask: Ask;
  readonly #options: InspectionOptions;
  readonly #ending: AbortSignal;
  #rounds = 0;
  /** No reply of any worker was in another serializer than JSON or pickle. */
  #isEncodable = true;
  /** Of commands that each process is asked once. */
  readonly #once: Readonly<Record<OnceCommand, OncePerProcess>> = {
    ping: new OncePerProcess(),
    active: new OncePerProcess(),
    reserved: new OncePerProcess(),
    scheduled: new OncePerProcess(),
    enable_events: new OncePerProcess(),
  };

  constructor(ask: Ask, options: InspectionOptions, ending: AbortSignal) {
    this.#ask = ask;
    this.#options = options;
    this.#ending = ending;
  }

  /** All commands, one after the other. Never rejects. */
  async round(): Promise<void> {
    const { answers, onAsked, now, yieldToLoop } = this.#options;
    const beganUpMs = performance.now();
    let isAsked = false;
    for (const command of commandsOf(this.#options)) {
      if (this.#isTooSoon(command)) continue;
      const once = isOnce(command) ? this.#once[command] : undefined;
      const up = await runYielding(yieldToLoop, answers.workersUp(now().listenedMs));
      if (this.#ending.aborted) return;
      const to = once?.next(answers.session, up) ?? 'everybody';
      if (to === 'nobody') continue;
      if (isStats(command) && !this.#isEncodable) {
        onAsked({ command, outcome: 'failure', reason: UNENCODABLE, replies: {} });
        continue;
      }
      if (isRisky(command)) this.#options.riskyAskedMs.set(command, performance.now());
      const asked = await this.#askOne(
        command,
        to,
        to === 'everybody' ? up.map(({ nodename }) => nodename) : to,
      );
      if (this.#ending.aborted) return;
      if (asked.outcome !== 'failure') isAsked = true;
      onAsked(asked);
    }
    answers.workersAsked(isAsked ? () => performance.now() - beganUpMs : undefined);
    if (isAsked) await runYielding(yieldToLoop, answers.keepQueues(now().listenedMs));
    this.#rounds += 1;
  }

  #isTooSoon(command: AskedCommand): boolean {
    if (!isRisky(command)) return false;
    const askedMs = this.#options.riskyAskedMs.get(command) ?? Number.NEGATIVE_INFINITY;
    return performance.now() - askedMs < RISKY_INTERVAL_MS;
  }

  async #askOne(
    command: AskedCommand,
    to: Destination | 'everybody',
    expected: readonly string[],
  ): Promise<Asked> {
    const { namespace, redis, timeoutMs } = this.#options;
    const isToAll = to === 'everybody';
    const replies = new Replies(this.#options, command, expected);
    const isOpen = isToAll && (isOnce(command) || this.#rounds % OPEN_ROUNDS === 0);
    const giveUp = new AbortController();
    const stop = (): void => giveUp.abort();
    const deadline = setTimeout(stop, ASKING_MS_MAX + timeoutMs);
    this.#ending.addEventListener('abort', stop);
    const take = (reply: RawMessage): boolean => replies.take(reply) && !isOpen;
    try {
      const named = isToAll ? {} : { destination: to };
      const answer = await this.#ask({ command, ...named, namespace, redis, timeoutMs, take }, giveUp.signal);
      if (isOnce(command)) for (const nodename of replies.used) this.#once[command].replied(nodename);
      if (replies.isForeign) this.#isEncodable = false;
      return replies.asked(answer);
    } catch (error) {
      // The session may be ending: then it is no failure.
      await pause(ENDING_MS, this.#ending);
      const reason = giveUp.signal.aborted ? `no answer within ${ASKING_MS_MAX} ms` : reasonOf(error);
      return { command, outcome: 'failure', reason, replies: {} };
    } finally {
      clearTimeout(deadline);
      this.#ending.removeEventListener('abort', stop);
    }
  }
}

/** The replies to one question. */
class Replies {
  readonly replied = new Set<string>();
  /** Those of them whose reply was of use. */
  readonly used = new Set<string>();
  /** One was in another serializer than JSON or pickle. */
  isForeign = false;
  readonly #options: InspectionOptions;
  readonly #command: AskedCommand;
  readonly #missing: Set<string>;
  readonly #counts = new Map<ReplyOutcome, number>();
  readonly #faults: string[] = [];

  constructor(options: InspectionOptions, command: AskedCommand, expected: readonly string[]) {
    this.#options = options;
    this.#command = command;
    this.#missing = new Set(expected);
  }

  /** @returns whether all that are expected have replied */
  take(message: RawMessage): boolean {
    const { answers } = this.#options;
    const now = this.#options.now();
    const nowMs = now.listenedMs;
    switch (this.#command) {
      case 'stats':
        this.#use(readReply(message, nowMs, readStats), (nodename, stats) =>
          answers.workerTold(nodename, stats, now),
        );
        break;
      case 'active_queues':
        this.#use(readReply(message, nowMs, readQueues), (nodename, queues) =>
          answers.consumes(nodename, queues, now),
        );
        break;
      case 'active':
        this.#use(readReply(message, nowMs, readActive), (nodename, tasks) => {
          if (answers.workerRuns(nodename, tasks, now)) this.used.add(nodename);
        });
        break;
      case 'reserved':
      case 'scheduled': {
        const read = this.#command === 'reserved' ? readReserved : readScheduled;
        this.#use(readReply(message, nowMs, read), (nodename, tasks) => {
          if (answers.workerHas(nodename, tasks, now)) this.used.add(nodename);
        });
        break;
      }
      case 'ping':
      case 'enable_events':
        this.#use(readReply(message, nowMs, readDone), (nodename) => this.used.add(nodename));
        break;
    }
    return this.#missing.size === 0;
  }

  asked({ receivers, untaken }: ControlAnswer): Asked {
    const command = this.#command;
    this.#count('late', untaken.late);
    this.#count('too_large', untaken.tooLarge + untaken.beyond);
    this.#count('unreadable', untaken.unreadable);
    // Nobody can be asked: there are no workers, or they do without remote control.
    const silent = receivers === 0 ? [] : [...this.#missing];
    const named = silent.slice(0, NAMED_MAX).join(', ');
    const more = silent.length > NAMED_MAX ? ` and ${silent.length - NAMED_MAX} more` : '';
    const reasons = [
      ...(silent.length > 0 ? [`no reply within ${this.#options.timeoutMs} ms from ${named}${more}`] : []),
      ...new Set(this.#faults),
    ];
    const replies = Object.fromEntries(this.#counts);
    return {
      command,
      outcome: reasons.length > 0 ? 'partial' : 'success',
      reason: reasons.join('; '),
      replies,
      ...(receivers === undefined ? {} : { receivers }),
    };
  }

  #use<Content>(reply: ControlReply<Content>, use: (nodename: string, content: Content) => void): void {
    if (reply.kind === 'unreadable') {
      this.#count('unreadable', 1);
      const { reason, detail } = reply.rejection;
      if (reason === 'unsupported-serializer') this.isForeign = true;
      this.#fault(
        reason === 'unsafe-serializer'
          ? 'a worker uses pickle for its replies, which is never decoded: let task_serializer be json'
          : `a reply is unreadable: ${reason} (${detail})`,
      );
      return;
    }
    const { nodename } = reply;
    this.#missing.delete(nodename);
    if (this.replied.has(nodename)) {
      this.#count('repeated', 1);
      this.#fault(`two workers have the name ${nodename}`);
      return;
    }
    this.replied.add(nodename);
    if (reply.kind !== 'answer') {
      this.#count('error', 1);
      this.#fault(`${nodename} replied with an error`);
      return;
    }
    this.#count('answer', 1);
    for (const implausible of reply.implausible) this.#options.onImplausible(implausible);
    use(nodename, reply.content);
  }

  #count(outcome: ReplyOutcome, count: number): void {
    if (count > 0) this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + count);
  }

  #fault(sentence: string): void {
    if (this.#faults.length < NAMED_MAX) this.#faults.push(sentence);
  }
}
