/**
 * Words that reach a process but cannot be its own, since its counts or its clock would have fallen: whether they prove that
 * another one has taken its place, and which of two that share a pid says something. Pure.
 */
import type { HeldWord } from './held-words.ts';
import { hasPassed, LAST_WORDS_MS } from './lateness.ts';

/** That another process has begun. */
export interface Restart {
  /** The first of its words that came. */
  readonly first: HeldWord;
  /** Those from which its counts are to be followed. */
  readonly words: readonly HeldWord[];
}

/** So many times less its count has to have grown. */
const CLEARLY_CLOSER = 10;

/**
 * Whether the older of two processes that share a pid said that it had begun so many.
 * @param older what either had told before
 */
export function isOfOlder(processed: number, older = 0, newer = 0): boolean {
  const newerGrowth = processed - newer;
  return newerGrowth > CLEARLY_CLOSER && (processed - older) * CLEARLY_CLOSER < newerGrowth;
}

export class StrayWords {
  #foreign: HeldWord | undefined;
  #late: HeldWord | undefined;

  /**
   * Two prove it, unless they seem to have been said before those of the process: what came late does not go on for long,
   * and what comes from a clock that was set back does.
   */
  add(word: HeldWord, isFromBefore: boolean): Restart | undefined {
    if (isFromBefore) {
      this.#late ??= word;
      if (!hasPassed(LAST_WORDS_MS, this.#late.arrivedAtMs, word.arrivedAtMs)) return undefined;
      return { first: this.#late, words: [this.#late, word] };
    }
    const before = this.#foreign;
    this.#foreign ??= word;
    // What seemed late may have been its own all the same.
    return before && { first: this.#late ?? before, words: [before, word] };
  }

  /** The process has said more itself. One that is there for so long is not the one that another has replaced. */
  goesOn(arrivedAtMs: number): void {
    this.#late = undefined;
    if (this.#foreign !== undefined && hasPassed(LAST_WORDS_MS, this.#foreign.arrivedAtMs, arrivedAtMs))
      this.#foreign = undefined;
  }
}
