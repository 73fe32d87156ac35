/**
 * Words that reach a process but cannot be its own, since its counts or its clock would have fallen: whether they prove that
 * another one has taken its place. Pure.
 */
import type { HeldWord } from './held-words.ts';
import { hasPassed, LAST_WORDS_MS } from './lateness.ts';

/** That another process has begun. */
export interface Restart {
  /** The first of its words that came. */
  readonly first: HeldWord;
  /** The one that proved it. */
  readonly proof: HeldWord;
  /** Those from which its counts are to be followed. */
  readonly words: readonly HeldWord[];
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
      // Many starts that it counts were taken for those of the other.
      return { first: this.#late, proof: word, words: [] };
    }
    const before = this.#foreign;
    this.#foreign ??= word;
    // What seemed late may have been its own all the same.
    return before && { first: this.#late ?? before, proof: word, words: [before, word] };
  }

  /** The process has said more itself. */
  goesOn(): void {
    this.#late = undefined;
  }

  clear(): void {
    this.#foreign = this.#late = undefined;
  }
}
