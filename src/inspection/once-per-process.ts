/**
 * Which workers are still to be asked something that is asked once of each process, and again after a gap. Bounded by the
 * workers that are up. It asks nothing itself.
 */
import { DESTINATION_MAX, type Destination } from '../broker/control/request.ts';
import type { WorkerUp } from '../cluster/answers.ts';

/** One that does not reply is not asked any more. */
const ATTEMPTS_MAX = 3;

export class OncePerProcess {
  /** How often each process was asked. */
  #attempts = new Map<object, number>();
  #session: number | undefined;
  /** Those of the last request, by their nodenames. */
  readonly #asked = new Map<string, object[]>();

  /** @param session the number of the current connection: after each new one, everybody is asked once, known or not */
  next(session: number, up: readonly WorkerUp[]): Destination | 'everybody' | 'nobody' {
    const isNew = session !== this.#session;
    this.#session = session;
    const before = isNew ? new Map<object, number>() : this.#attempts;
    const missing = up.filter((worker) => (before.get(worker.process) ?? 0) < ATTEMPTS_MAX);
    const asked = isNew ? missing : missing.slice(0, DESTINATION_MAX);
    this.#attempts = new Map(up.map(({ process: key }) => [key, before.get(key) ?? 0]));
    this.#asked.clear();
    for (const { nodename, process: key } of asked) {
      this.#attempts.set(key, (this.#attempts.get(key) ?? 0) + 1);
      this.#asked.set(nodename, [...(this.#asked.get(nodename) ?? []), key]);
    }
    if (isNew) return 'everybody';
    const [first, ...others] = this.#asked.keys();
    return first === undefined ? 'nobody' : [first, ...others];
  }

  /** A worker has replied to the last request. */
  replied(nodename: string): void {
    for (const key of this.#asked.get(nodename) ?? []) this.#attempts.set(key, ATTEMPTS_MAX);
  }
}
