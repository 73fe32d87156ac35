/**
 * Reads the messages of a subscribed client at the pace of the event loop: ioredis hands over all messages of a chunk at
 * once, so those that do not fit into this turn are kept, and the socket pauses. If the server buffers too much for us,
 * messages are dropped unread. It ends no session.
 */
import type { Redis } from 'ioredis';
import type { Deliver, SessionOptions } from '../broker.ts';
import { Malformed } from '../server/malformed.ts';
import type { ListeningClock } from '../session/listening-clock.ts';
import { paceMessages } from '../session/paced-reading.ts';
import { Backlog } from './backlog.ts';
import { openEnvelope } from './envelope.ts';

/** How many delivery tags are remembered: kombu 5.7 may publish a message to two channels, one right after the other. */
const TAGS_MAX = 1000;

type Limits = Pick<SessionOptions, 'bodyBytesMax' | 'onShed'>;

export class Subscription {
  readonly #client: Redis;
  readonly #listening: ListeningClock;
  readonly #limits: Limits;
  readonly #backlog = new Backlog();
  readonly #hasTime = paceMessages(() => this.#drain());
  /** Unread envelopes of the current chunk, from `#next` on. */
  #unread: Buffer[] = [];
  #next = 0;
  /** When the current chunk of data was read: epoch ms, and monotonic ms. */
  #readAtMs = 0;
  #readUpMs = 0;
  #awaitsAnswer = false;
  #heard = true;
  #isOver = false;
  #shed = 0;
  #deliver: Deliver | undefined;
  /** The delivery tags of messages that arrived once; undefined if each message arrives on one channel only. */
  readonly #tags: Set<string> | undefined;

  constructor(client: Redis, listening: ListeningClock, limits: Limits, isDoubled = false) {
    this.#client = client;
    this.#listening = listening;
    this.#limits = limits;
    this.#tags = isDoubled ? new Set() : undefined;
    client.stream.prependListener('data', this.#noteRead);
    client.on('pmessageBuffer', this.#receive);
  }

  /** Delivers the messages that have arrived, and all later ones. */
  deliverTo(deliver: Deliver): void {
    this.#deliver = deliver;
    this.#drain();
  }

  /** Requests a sign of life, one request at a time. @returns whether anything has arrived since the last call */
  ask(): boolean {
    this.#reportShed();
    const heard = this.#heard;
    this.#heard = false;
    if (this.#awaitsAnswer) return heard;
    this.#awaitsAnswer = true;
    this.#backlog.noteQuestion();
    this.#client.ping().then(
      () => {
        this.#awaitsAnswer = false;
        this.#backlog.noteAnswer();
      },
      // The connection reports its own errors.
      () => undefined,
    );
    return heard;
  }

  /** Whether the server buffers so much that messages are dropped. */
  get isBehind(): boolean {
    return this.#backlog.isShedding;
  }

  /** Stops delivering. */
  end(): void {
    this.#isOver = true;
    this.#unread = [];
    this.#reportShed();
  }

  readonly #noteRead = (chunk: Buffer): void => {
    this.#readUpMs = performance.now();
    this.#readAtMs = Date.now();
    this.#heard = true;
    this.#backlog.noteRead(chunk.length);
    this.#listening.proven(this.#readUpMs, this.#readAtMs);
  };

  readonly #receive = (_pattern: string, _channel: unknown, envelope: unknown): void => {
    if (this.#isOver) return;
    if (!Buffer.isBuffer(envelope)) throw new Malformed('Redis', 'a message is not text');
    if (this.#backlog.isShedding) {
      this.#shed += 1;
      return;
    }
    if (this.#unread.length === 0 && this.#deliver !== undefined && this.#hasTime()) {
      this.#handOver(envelope);
      return;
    }
    this.#unread.push(envelope);
    this.#client.stream.pause();
  };

  #drain(): void {
    if (this.#isOver || this.#deliver === undefined) return;
    for (; this.#next < this.#unread.length; this.#next += 1) {
      if (!this.#hasTime()) return;
      const envelope = this.#unread[this.#next];
      if (envelope !== undefined) this.#handOver(envelope);
      if (this.#isOver) return;
    }
    this.#unread = [];
    this.#next = 0;
    this.#client.stream.resume();
  }

  #handOver(envelope: Buffer): void {
    const { message, deliveryTag } = openEnvelope(envelope, this.#readAtMs, this.#limits.bodyBytesMax);
    if (this.#isSecond(deliveryTag)) return;
    const { listenedMs, steadyMs } = this.#listening;
    this.#deliver?.(message, listenedMs, steadyMs);
  }

  #isSecond(tag: string): boolean {
    if (this.#tags === undefined || tag === '') return false;
    if (this.#tags.delete(tag)) return true;
    if (this.#tags.size >= TAGS_MAX) this.#tags.clear();
    this.#tags.add(tag);
    return false;
  }

  #reportShed(): void {
    if (this.#shed > 0) this.#limits.onShed(this.#shed);
    this.#shed = 0;
  }
}
