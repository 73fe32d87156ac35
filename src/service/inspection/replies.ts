/** Decodes the replies to one command, passes on their content, and summarizes the result. It sends nothing. */
import type { RawMessage } from '../../broker/broker.ts';
import type { AskedCommand } from '../../broker/control/commands.ts';
import type { ControlAnswer } from '../../broker/control/control.ts';
import {
  type ControlReply,
  readActive,
  readDone,
  readQueues,
  readReply,
  readReserved,
  readScheduled,
  readStats,
} from '../../celery/control-reply.ts';
import type { Implausible } from '../../celery/numeric-fields.ts';
import type { Answers } from '../../cluster/answers.ts';
import type { Moment } from '../../cluster/moment.ts';
import type { ReplyOutcome, SelfEvent } from '../../self/self-event.ts';

export interface ReplyOptions {
  /** Receives the facts from the replies. */
  readonly answers: Pick<Answers, 'consumes' | 'workerReported' | 'workerLives' | 'workerRuns' | 'workerHas'>;
  readonly now: () => Moment;
  /** How long replies are awaited. */
  readonly timeoutMs: number;
  readonly onImplausible: (implausible: Implausible) => void;
  /** Called when a worker has replied in a readable form. */
  readonly onReply: (nodename: string) => void;
}

/** The summary of one command. */
export type AskedResult = Pick<
  SelfEvent<'workers-asked'>,
  'command' | 'outcome' | 'reason' | 'replies' | 'receivers'
>;

/** How many silent workers, and how many faults, a reason lists. */
const LISTED_MAX = 5;

/** The replies to one question. */
export class Replies {
  /** The nodenames that replied. */
  readonly replied = new Set<string>();
  /** Of these, the nodenames whose reply was usable. */
  readonly used = new Set<string>();
  /** How many replies used a serializer other than JSON; the workers that sent them are unknown. */
  foreign = 0;
  readonly #options: ReplyOptions;
  readonly #command: AskedCommand;
  readonly #missing: Set<string>;
  readonly #expected: ReadonlySet<string>;
  readonly #counts = new Map<ReplyOutcome, number>();
  readonly #faults: string[] = [];

  /** @param awaited nodenames @param expected the awaited nodenames that are reported if they do not reply */
  constructor(
    options: ReplyOptions,
    command: AskedCommand,
    awaited: readonly string[],
    expected: readonly string[],
  ) {
    this.#options = options;
    this.#command = command;
    this.#missing = new Set(awaited);
    this.#expected = new Set(expected);
  }

  /** @returns whether all awaited workers have replied */
  take(message: RawMessage): boolean {
    const { answers } = this.#options;
    const now = this.#options.now();
    const nowMs = now.listenedMs;
    switch (this.#command) {
      case 'stats':
        this.#use(readReply(message, nowMs, readStats), (nodename, stats) =>
          answers.workerReported(nodename, stats, now),
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
        this.#use(readReply(message, nowMs, readDone), (nodename) => {
          answers.workerLives(nodename, now);
          this.used.add(nodename);
        });
        break;
      case 'enable_events':
        this.#use(readReply(message, nowMs, readDone), (nodename) => this.used.add(nodename));
        break;
    }
    return this.#missing.size === 0;
  }

  asked({ receivers, untaken, audience }: ControlAnswer): AskedResult {
    const command = this.#command;
    this.#count('late', untaken.late);
    this.#count('too_large', untaken.tooLarge + untaken.beyond);
    this.#count('unreadable', untaken.unreadable);
    // If nobody is listening, there are no workers, or they run without remote control.
    const silent = receivers === 0 ? [] : [...this.#missing].filter((each) => this.#expected.has(each));
    const named = silent.slice(0, LISTED_MAX).join(', ');
    const more = silent.length > LISTED_MAX ? ` and ${silent.length - LISTED_MAX} more` : '';
    const reasons = [
      ...(silent.length > 0 ? [`no reply within ${this.#options.timeoutMs} ms from ${named}${more}`] : []),
      ...new Set(this.#faults),
    ];
    const replies = Object.fromEntries(this.#counts);
    const reached = audience?.listening ?? receivers;
    return {
      command,
      outcome: reasons.length > 0 ? 'partial' : 'success',
      reason: reasons.join('; '),
      replies,
      ...(reached === undefined ? {} : { receivers: reached }),
    };
  }

  #use<Content>(reply: ControlReply<Content>, use: (nodename: string, content: Content) => void): void {
    if (reply.kind === 'unreadable') {
      this.#count('unreadable', 1);
      const { reason, detail } = reply.rejection;
      if (reason === 'unsupported-serializer' || reason === 'unsafe-serializer') this.foreign += 1;
      this.#fault(
        reason === 'unsafe-serializer'
          ? 'a worker uses pickle for its replies, which is never decoded: set task_serializer to json'
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
    this.#options.onReply(nodename);
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
    if (this.#faults.length < LISTED_MAX) this.#faults.push(sentence);
  }
}
