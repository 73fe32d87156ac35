/**
 * Searches for other instances of celery-otel that export the same service, during each session: each of them counts every event. It
 * only reports them.
 */
import type { Session } from '../broker/broker.ts';
import type { EventSink } from '../self/self-event.ts';
import { pause } from '../timing/pause.ts';

const FIRST_LOOK_MS = 2000;
const LOOK_MS = 20_000;

export class InstanceWatch {
  readonly #service: string;
  readonly #report: EventSink;
  readonly #lookMs: number;
  #reported = 0;
  #others: number | undefined;

  /** @param lookMs between two polls; tests use less */
  constructor(service: string, report: EventSink, lookMs = LOOK_MS) {
    this.#service = service;
    this.#report = report;
    this.#lookMs = lookMs;
  }

  /** Including this one, at the last poll; undefined if the broker does not report it. */
  get count(): number | undefined {
    return this.#others === undefined ? undefined : this.#others + 1;
  }

  /** @returns ends it */
  during(session: Session): () => void {
    const ending = new AbortController();
    const instances = session.instances?.bind(session);
    if (instances !== undefined) void this.#watch(instances, ending.signal);
    return () => {
      ending.abort();
      this.#others = undefined;
    };
  }

  async #watch(instances: NonNullable<Session['instances']>, ending: AbortSignal): Promise<void> {
    let waitMs = Math.min(FIRST_LOOK_MS, this.#lookMs);
    for (;;) {
      await pause(waitMs, ending);
      if (ending.aborted) return;
      const others = await instances(ending);
      if (ending.aborted) return;
      this.#note(others);
      waitMs = this.#lookMs;
    }
  }

  /** Reported only if two polls agree: the broker may still list an instance that has just ended. */
  #note(others: number | undefined): void {
    const isSettled = others === this.#others;
    this.#others = others;
    if (others === undefined || !isSettled || others === this.#reported) return;
    this.#reported = others;
    this.#report({ kind: 'instances-changed', service: this.#service, count: others + 1 });
  }
}
