/** Sends one control command to workers, and returns the result. It does not choose the command or the workers. */
import type { RawMessage, Session } from '../../broker/broker.ts';
import type { AskedCommand } from '../../broker/control/commands.ts';
import type { Audience, RedisReplies } from '../../broker/control/control.ts';
import type { Destination } from '../../broker/control/request.ts';
import { reasonOf } from '../../text/errors.ts';
import { pause } from '../../timing/pause.ts';
import { ENDING_MS } from '../../timing/rhythm.ts';
import { type AskedResult, Replies, type ReplyOptions } from './replies.ts';

export type Ask = NonNullable<Session['ask']>;

export interface QuestionerOptions extends ReplyOptions {
  /** Celery’s `control_exchange`. */
  readonly namespace: string;
  readonly redis: RedisReplies;
}

export interface Question {
  readonly command: AskedCommand;
  readonly to: Destination | 'everybody';
  /** Nodenames; the question ends when all of them have replied. */
  readonly awaited: readonly string[];
  /** The awaited workers that are up: only these are reported if they do not reply. By default all. */
  readonly expected?: readonly string[];
  /** Whether to wait for the whole timeout, since workers that are not listed may reply, too. */
  readonly isOpen: boolean;
}

export interface QuestionOutcome {
  readonly asked: AskedResult;
  readonly replies: Replies;
  /** The workers that received it; undefined if it could not be sent, or the broker does not report them. */
  readonly audience: Audience | undefined;
}

/** How long connecting and publishing may take; the wait for replies is added. */
const ASKING_MS_MAX = 10_000;

export class Questioner {
  readonly #ask: Ask;
  readonly #options: QuestionerOptions;
  readonly #ending: AbortSignal;

  constructor(ask: Ask, options: QuestionerOptions, ending: AbortSignal) {
    this.#ask = ask;
    this.#options = options;
    this.#ending = ending;
  }

  /** Call it for one question at a time. Never rejects. */
  async put({ command, to, awaited, expected = awaited, isOpen }: Question): Promise<QuestionOutcome> {
    const { namespace, redis, timeoutMs } = this.#options;
    const replies = new Replies(this.#options, command, awaited, expected);
    const giveUp = new AbortController();
    const stop = (): void => giveUp.abort();
    const deadline = setTimeout(stop, ASKING_MS_MAX + timeoutMs);
    this.#ending.addEventListener('abort', stop);
    const take = (reply: RawMessage): boolean => replies.take(reply) && !isOpen;
    try {
      const named = to === 'everybody' ? {} : { destination: to };
      const answer = await this.#ask({ command, ...named, namespace, redis, timeoutMs, take }, giveUp.signal);
      return { asked: replies.asked(answer), replies, audience: answer.audience };
    } catch (error) {
      // If the session is ending, this is no failure.
      await pause(ENDING_MS, this.#ending);
      const reason = giveUp.signal.aborted ? `no reply within ${ASKING_MS_MAX} ms` : reasonOf(error);
      return { asked: { command, outcome: 'failure', reason, replies: {} }, replies, audience: undefined };
    } finally {
      clearTimeout(deadline);
      this.#ending.removeEventListener('abort', stop);
    }
  }
}
