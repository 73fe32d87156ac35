/**
 * Compiles the user's patterns of further secrets, and refuses patterns that could take long, because texts of exceptions come
 * from outside, and JavaScript's regular expressions backtrack. It also refuses some harmless patterns. It runs only when
 * settings are read. Pure.
 */
import { PATTERN_CHARS_MAX } from './redaction.ts';

export type RedactPattern =
  | { readonly ok: true; readonly pattern: RegExp }
  | { readonly ok: false; readonly flaw: string };

const SOURCE_CHARS_MAX = 512;
/**
 * Steps of a match from one position. It allows a few unbounded repetitions over a whole line, but not one that is tried again
 * for each length of another.
 */
const STEPS_MAX = 8 * PATTERN_CHARS_MAX;
/** A class in brackets, an escape, or a single character. */
const CHARACTER =
  /\[\^?(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|c.|.)|[^\\]/isuy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const GROUP = /\((?:\?(?:[:=!]|<[=!]|<\w+>))?/y;
const ASSERTION = /^(?:[\^$]|\\[bB])$/;
/** Samples of characters that are not ASCII. Two pieces that each match one of them are assumed to overlap. */
const BEYOND_ASCII = ['é', 'Ж', '中', '\u2028', '😀'];

class Flaw extends Error {}

/** @param source without slashes; case matters, and `.` does not match a line break */
export function redactPattern(source: string): RedactPattern {
  if (source.length > SOURCE_CHARS_MAX)
    return { ok: false, flaw: `is longer than ${SOURCE_CHARS_MAX} characters` };
  let pattern: RegExp;
  try {
    pattern = new RegExp(source, 'gu');
  } catch (error) {
    return { ok: false, flaw: error instanceof Error ? error.message : String(error) };
  }
  if (''.search(pattern) >= 0) return { ok: false, flaw: 'matches an empty text' };
  try {
    const { steps } = new Reading(source).alternatives(true);
    if (steps > STEPS_MAX)
      return {
        ok: false,
        flaw: 'could take too long: it has several parts of any length that can match the same text',
      };
  } catch (error) {
    if (error instanceof Flaw) return { ok: false, flaw: error.message };
    throw error;
  }
  return { ok: true, pattern };
}

/** The worst-case effort to match a part of a pattern from one position. */
interface Effort {
  /** In how many ways the part can match: the rest of the pattern is tried after each. */
  readonly ways: number;
  readonly steps: number;
}

interface Atom extends Effort {
  /** The source of an atom that matches one character; undefined for groups. */
  readonly character: string | undefined;
}

interface Piece extends Atom {
  readonly min: number;
  readonly max: number;
}

/** Parses the source of a valid pattern from left to right. */
class Reading {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** @param isLast whether nothing follows that could fail, so that the engine never backtracks */
  alternatives(isLast: boolean): Effort {
    let { ways, steps } = effortOf(this.#sequence(), isLast);
    while (this.#source[this.#at] === '|') {
      this.#at += 1;
      const other = effortOf(this.#sequence(), isLast);
      ways += other.ways;
      steps += other.steps;
    }
    return { ways, steps };
  }

  #sequence(): readonly Piece[] {
    const pieces: Piece[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source.charAt(this.#at))) {
      const atom = this.#atom();
      if (atom !== undefined) pieces.push({ ...atom, ...this.#quantifier() });
    }
    return pieces;
  }

  #atom(): Atom | undefined {
    const group = this.#take(GROUP);
    if (group !== undefined) {
      const effort = this.alternatives(false);
      this.#at += 1;
      return { ...effort, character: undefined };
    }
    const [character = ''] = this.#take(CHARACTER) ?? [];
    if (ASSERTION.test(character)) return undefined;
    if (/^\\[1-9k]/.test(character)) throw new Flaw('refers back to a group');
    return { ways: 1, steps: 1, character };
  }

  #quantifier(): Pick<Piece, 'min' | 'max'> {
    const found = this.#take(QUANTIFIER);
    if (found === undefined) return { min: 1, max: 1 };
    const [, sign, least, comma, most] = found;
    if (sign !== undefined)
      return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Number.POSITIVE_INFINITY };
    const min = Number(least);
    if (comma === undefined) return { min, max: min };
    return { min, max: most === '' ? Number.POSITIVE_INFINITY : Number(most) };
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}

function effortOf(pieces: readonly Piece[], isLast: boolean): Effort {
  let [ways, steps] = [1, 0];
  for (const [n, piece] of pieces.entries()) {
    const next = pieces[n + 1];
    const effort = repeated(piece);
    const isSettled = next === undefined ? isLast && piece.ways === 1 : isEndedBy(piece, next);
    steps += ways * effort.steps;
    if (!isSettled) ways *= effort.ways;
  }
  return { ways, steps };
}

/** Whether a repetition can match in only one length, since it cannot match the first character of the next piece. */
function isEndedBy({ character, ways }: Piece, next: Piece): boolean {
  if (ways > 1 || character === undefined || next.character === undefined || next.min === 0) return false;
  const [one, other] = [character, next.character].map((source) => new RegExp(`^${source}$`, 'su'));
  return (
    !SAMPLES.some((sample) => one?.test(sample) && other?.test(sample)) &&
    !isBeyondBoth(character, next.character)
  );
}

const SAMPLES = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), ...BEYOND_ASCII];

/** Whether both pieces can match characters beyond ASCII, for which comparing samples is not enough. */
function isBeyondBoth(one: string, other: string): boolean {
  const isBeyond = (source: string): boolean =>
    /\P{ASCII}|\\[uxpPc]/u.test(source) ||
    BEYOND_ASCII.some((sample) => new RegExp(`^${source}$`, 'su').test(sample));
  return isBeyond(one) && isBeyond(other);
}

function repeated({ ways, steps, min, max }: Piece): Effort {
  const most = Math.min(max, PATTERN_CHARS_MAX);
  const lengths = most - Math.min(min, most) + 1;
  // Each repetition except the last one consumes what it reads, so the line’s length bounds the steps of all together.
  if (ways === 1) return { ways: lengths, steps: Math.max(0, most - 1) + steps };
  if (max === Number.POSITIVE_INFINITY)
    throw new Flaw(
      'repeats, without a bound, a part that can match in several ways: use a class of characters',
    );
  return { ways: ways ** max * lengths, steps: ways ** max * lengths * steps };
}
