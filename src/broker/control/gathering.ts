/**
 * Collects the replies to one command by its ticket, within limits on bytes and messages. It is independent of
 * transports, and does not wait.
 */
import type { RawMessage } from '../raw-message.ts';
import type { Audience, ControlAnswer, Untaken } from './control.ts';

/** How many messages of any kind are read for one command. */
const REPLIES_MAX = 20_000;
/** The most bytes of all bodies together: enough for a thousand workers with a thousand task names each. */
const BYTES_MAX = 64 * 1024 * 1024;

export class Gathering {
  readonly #ticket: string;
  readonly #take: (reply: RawMessage) => boolean;
  readonly #untaken: { -readonly [K in keyof Untaken]: number } = {
    late: 0,
    tooLarge: 0,
    unreadable: 0,
    beyond: 0,
  };
  #seen = 0;
  #bytes = 0;
  #taken = 0;
  #isFull = false;
  /** Whether all expected replies have been taken. */
  #isComplete = false;
  /** How many workers the command reached; undefined if unknown. Not all of them need to reply. */
  receivers: number | undefined = undefined;
  audience: Audience | undefined = undefined;

  /** @param late how many replies to earlier commands have arrived since the last command ended */
  constructor(ticket: string, take: (reply: RawMessage) => boolean, late = 0) {
    this.#ticket = ticket;
    this.#take = take;
    this.#untaken.late = late;
  }

  /** Whether to stop waiting for replies. */
  get isDone(): boolean {
    if (this.#isFull) return true;
    return this.receivers === undefined ? this.#isComplete : this.#taken >= this.receivers;
  }

  offer(reply: RawMessage | 'too-large'): void {
    this.#seen += 1;
    if (this.#seen >= REPLIES_MAX) this.#isFull = true;
    if (reply === 'too-large') {
      this.#untaken.tooLarge += 1;
      return;
    }
    const { headers, body } = reply;
    if (body === undefined) this.#untaken.tooLarge += 1;
    else if (headers === undefined) this.#untaken.unreadable += 1;
    else if (headers['ticket'] !== this.#ticket) this.#untaken.late += 1;
    else if (this.#bytes + body.length > BYTES_MAX) this.#untaken.beyond += 1;
    else {
      this.#bytes += body.length;
      this.#taken += 1;
      if (this.#take(reply)) this.#isComplete = true;
    }
  }

  answer(): ControlAnswer {
    const { receivers, audience } = this;
    const answer = { receivers, taken: this.#taken, untaken: { ...this.#untaken } };
    return audience === undefined ? answer : { ...answer, audience };
  }
}
