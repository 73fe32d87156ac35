/**
 * Stores task ids by place, a row number that the caller chooses: UUIDs as numbers, which cost the garbage collector
 * nothing, and other ids as texts. It cannot find the place of an id.
 */
import { type TaskKey, uuidOf, WORDS } from '../../cluster/tasks/task-key.ts';

export class IdColumn {
  #words = new Uint32Array(0);
  /** The ids that are not UUIDs, by place. */
  readonly #texts = new Map<number, string>();
  /** The total length of these texts, in UTF-16 units. */
  chars = 0;

  /** Makes room for this many places. */
  grow(places: number): void {
    const words = new Uint32Array(WORDS * places);
    words.set(this.#words);
    this.#words = words;
  }

  set(place: number, { words, text }: Pick<TaskKey, 'words' | 'text'>): void {
    this.#words.set(words, WORDS * place);
    this.clear(place);
    if (text === '') return;
    this.#texts.set(place, text);
    this.chars += text.length;
  }

  /** Returns '' for a place that was never set, or that was set to ''. */
  get(place: number): string {
    const text = this.#texts.get(place);
    if (text !== undefined) return text;
    const at = WORDS * place;
    // No program makes a UUID whose last two words are 0.
    const isUuid = this.#words[at + 2] !== 0 || this.#words[at + 3] !== 0;
    return isUuid ? uuidOf(this.#words, at) : '';
  }

  is(place: number, { words, text }: Pick<TaskKey, 'words' | 'text'>): boolean {
    const at = WORDS * place;
    for (let word = 0; word < WORDS; word += 1) if (this.#words[at + word] !== words[word]) return false;
    return (this.#texts.get(place) ?? '') === text;
  }

  /** Frees the text at this place; the words of a UUID stay. */
  clear(place: number): void {
    const text = this.#texts.get(place);
    if (text === undefined) return;
    this.#texts.delete(place);
    this.chars -= text.length;
  }
}
