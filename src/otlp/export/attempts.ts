/** Repeats an attempt to send until it succeeds, with exponential back-off. It sends nothing itself. */
import type { Stop } from './send-requests.ts';
import { sleepUntil } from './waiting.ts';

/** The first back-off, ms. It doubles with each further failure. */
export const FIRST_RETRY_MS = { scheduled: 1000, /** A flush has little time. */ flush: 100 } as const;

export const STOPPED: Stop = { kind: 'stopped', reason: 'the exports were stopped' };
export const TIME_IS_UP: Stop = { kind: 'given-up', reason: 'the time for this export is up' };

export interface AttemptsOptions {
  readonly firstMs: number;
  /** The longest back-off. */
  readonly maxMs: number;
  /** Returns a number in [0, 1), for the jitter. */
  readonly random: () => number;
}

export interface AttemptsEnd {
  /** No attempt begins at this time or later, in the time of `performance.now()`. */
  readonly endMs: number;
  /** Ends the attempts at once. */
  readonly signal?: AbortSignal;
}

/** The attempts to reach one backend. Failures are counted until one succeeds, also across calls. */
export class Attempts {
  readonly #options: AttemptsOptions;
  #failures = 0;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /**
   * @param send makes one attempt, and returns whether it succeeded
   * @returns whether an attempt succeeded before the end
   */
  async repeat(send: () => Promise<boolean>, { endMs, signal }: AttemptsEnd): Promise<boolean> {
    while (!(await this.#try(send))) {
      const retryMs = performance.now() + this.#backOffMs();
      if (retryMs >= endMs) return false;
      await sleepUntil(retryMs, signal);
      if (signal?.aborted === true) return false;
    }
    return true;
  }

  async #try(send: () => Promise<boolean>): Promise<boolean> {
    const isSent = await send();
    this.#failures = isSent ? 0 : this.#failures + 1;
    return isSent;
  }

  #backOffMs(): number {
    const { firstMs, maxMs, random } = this.#options;
    const fullMs = Math.min(firstMs * 2 ** (this.#failures - 1), maxMs);
    // Jitter, so that several bridges do not retry the same backend at the same moment.
    return fullMs * (0.75 + random() / 4);
  }
}
