/**
 * Decides which workers are deaf: they live and send heartbeats, but have stopped listening, and consume no task until
 * they are restarted (kombu before 5.7 on Redis: transport/redis.py, `_on_disconnect`). A busy worker still listens,
 * and a worker that receives tasks without replying has no remote control: neither is deaf. Pure: it sends nothing.
 */
import type { Audience } from '../../broker/control/control.ts';
import type { WorkerUp } from '../../cluster/answers.ts';

/** The result of a roll call, a ping to the workers that should reply. */
export interface RollCall {
  readonly asked: ReadonlySet<string>;
  readonly replied: ReadonlySet<string>;
  readonly up: readonly WorkerUp[];
  readonly audience: Audience | undefined;
  /** When the ping was sent, and the time now, both in listened time. */
  readonly askedMs: number;
  readonly nowMs: number;
}

export interface Verdict {
  /** Workers that turned deaf, and those that recovered, since the previous verdict. */
  readonly deaf: readonly string[];
  readonly recovered: readonly string[];
}

interface Suspect {
  readonly sinceMs: number;
  unanswered: number;
}

/** Workers that recover by themselves do so within 40 ms. */
const CERTAIN_MS = 4000;
/** How many pings a worker must leave unanswered before it counts as deaf. */
const UNANSWERED_MIN = 3;
/** A worker that leaves this many pings unanswered, but listens, is busy. */
const UNANSWERED_MAX = 12;

export class Deafness {
  readonly #suspects = new Map<string, Suspect>();
  /** Since when each worker is deaf, in listened time. */
  readonly #deaf = new Map<string, number>();
  /** The process of each worker that received a task while it did not reply: it is busy, or has no remote control. */
  readonly #consuming = new Map<string, object>();
  /** How many listeners are not known workers: celery beat, and workers without heartbeats. */
  #unknownListeners = 0;
  /** How many more there were in the last round: a starting worker listens before its first heartbeat. */
  #excessListeners = 0;

  /** Workers that left a ping unanswered, and are pinged again soon. */
  get suspects(): readonly string[] {
    return [...this.#suspects.keys()];
  }

  get deaf(): readonly string[] {
    return [...this.#deaf.keys()];
  }

  /**
   * Workers that are pinged in each round: a restarted worker may keep its pid, and a busy one may have become idle.
   */
  get watched(): readonly string[] {
    return [...this.#deaf.keys(), ...this.#consuming.keys()];
  }

  /** Called after each round of commands. @returns whether fewer workers listen than should */
  isShort(up: readonly WorkerUp[], audience: Audience): boolean {
    const missing = this.#missing(up, audience);
    const excess = Math.max(0, -missing);
    this.#unknownListeners += Math.min(excess, this.#excessListeners);
    this.#excessListeners = excess;
    return missing - this.#consumingOf(up, audience) > this.#deaf.size;
  }

  judge({ asked, replied, up, audience, askedMs, nowMs }: RollCall): Verdict {
    const seenMs = new Map(up.map((worker) => [worker.nodename, worker.seenMs]));
    for (const nodename of [...this.#suspects.keys()])
      if (!seenMs.has(nodename) || replied.has(nodename)) this.#suspects.delete(nodename);
    this.#noteConsuming(up, replied);
    const recovered = this.deaf.filter(
      (nodename) => !seenMs.has(nodename) || replied.has(nodename) || this.#consuming.has(nodename),
    );
    for (const nodename of recovered) this.#deaf.delete(nodename);
    for (const nodename of asked) {
      const isKnown = seenMs.has(nodename) && !this.#consuming.has(nodename);
      const isExpected = isKnown && audience?.mailboxes.has(nodename) === true;
      if (replied.has(nodename) || this.#deaf.has(nodename) || !isExpected) continue;
      const suspect = this.#suspects.get(nodename) ?? { sinceMs: askedMs, unanswered: 0 };
      suspect.unanswered += 1;
      this.#suspects.set(nodename, suspect);
    }
    if (audience === undefined) return { deaf: [], recovered };
    const missing = this.#missing(up, audience) - this.#consumingOf(up, audience) - this.#deaf.size;
    if (this.#suspects.size === 0)
      this.#unknownListeners = Math.max(0, this.#unknownListeners - Math.max(0, missing));
    const silent = [...this.#suspects].filter(
      ([nodename, { sinceMs }]) => (seenMs.get(nodename) ?? sinceMs) > sinceMs,
    );
    const isCertain = silent.every(
      ([, { sinceMs, unanswered }]) => unanswered >= UNANSWERED_MIN && nowMs - sinceMs >= CERTAIN_MS,
    );
    // If one of several silent workers is busy, it is unknown which of them is deaf.
    const deaf = isCertain && missing >= silent.length ? silent.map(([nodename]) => nodename) : [];
    for (const nodename of deaf) this.#deaf.set(nodename, nowMs);
    for (const [nodename, { unanswered }] of this.#suspects)
      if (this.#deaf.has(nodename) || unanswered >= UNANSWERED_MAX) this.#suspects.delete(nodename);
    return { deaf, recovered };
  }

  #noteConsuming(up: readonly WorkerUp[], replied: ReadonlySet<string>): void {
    const processes = new Set(up.map((worker) => worker.process));
    for (const [nodename, key] of [...this.#consuming])
      if (replied.has(nodename) || !processes.has(key)) this.#consuming.delete(nodename);
    for (const { nodename, process: key, receivedMs } of up) {
      const sinceMs = this.#suspects.get(nodename)?.sinceMs ?? this.#deaf.get(nodename);
      if (sinceMs === undefined || receivedMs <= sinceMs || replied.has(nodename)) continue;
      this.#consuming.set(nodename, key);
      this.#suspects.delete(nodename);
    }
  }

  /** How many workers without replies may be among the missing listeners: it is unknown whether they listen. */
  #consumingOf(up: readonly WorkerUp[], { mailboxes }: Audience): number {
    const names = new Set(up.map(({ nodename }) => nodename));
    return [...this.#consuming.keys()].filter((each) => names.has(each) && mailboxes.has(each)).length;
  }

  /** How many fewer workers listen than should; negative if more do. */
  #missing(up: readonly WorkerUp[], { listening, mailboxes }: Audience): number {
    const expected = new Set(
      up.map(({ nodename }) => nodename).filter((nodename) => mailboxes.has(nodename)),
    );
    return expected.size + this.#unknownListeners - listening;
  }
}
