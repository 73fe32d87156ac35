/**
 * Searches for other instances of celery-otel that export the same service, during each session: with a second
 * instance, every event is counted twice. It only reports them.
 */
import type { Session } from '../broker/broker.ts';
import type { EventSink } from '../self/self-event.ts';
import { pause } from '../timing/pause.ts';

/** How long after the start of a session the broker is polled first. */
const FIRST_POLL_MS = 2000;
const POLL_MS = 20_000;

export class InstanceWatch {
  readonly #service: string;
  readonly #report: EventSink;
  readonly #pollMs: number;
  /** How many others the last report had. */
  #reported = 0;
  /** How many others the last poll found; undefined if the broker does not report it. */
  #others: number | undefined;

  /** @param pollMs time between two polls; tests use less */
  constructor(service: string, report: EventSink, pollMs = POLL_MS) {
    this.#service = service;
    this.#report = report;
    this.#pollMs = pollMs;
  }

  /** The number of instances at the last poll, including this one; undefined if the broker does not report it. */
  get count(): number | undefined {
    return this.#others === undefined ? undefined : this.#others + 1;
  }

  /** @returns a function that ends the search */
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
    let waitMs = Math.min(FIRST_POLL_MS, this.#pollMs);
    for (;;) {
      await pause(waitMs, ending);
      if (ending.aborted) return;
      const others = await instances(ending);
      if (ending.aborted) return;
      this.#note(others);
      waitMs = this.#pollMs;
    }
  }

  /** Reports only what two polls agree on: the broker may still list an instance that has just ended. */
  #note(others: number | undefined): void {
    const isConfirmed = others === this.#others;
    this.#others = others;
    if (others === undefined || !isConfirmed || others === this.#reported) return;
    this.#reported = others;
    this.#report({ kind: 'instances-changed', service: this.#service, count: others + 1 });
  }
}
