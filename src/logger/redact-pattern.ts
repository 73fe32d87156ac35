/**
 * Compiles the user's patterns of what else is secret, and refuses those that could take long: texts of exceptions come from
 * outside, and JavaScript's expressions backtrack. It is strict: some harmless patterns are refused. It is used when settings are
 * read. Pure.
 */
import { PATTERN_CHARS_MAX } from './redaction.ts';

export type RedactPattern =
  | { readonly ok: true; readonly pattern: RegExp }
  | { readonly ok: false; readonly flaw: string };

const SOURCE_CHARS_MAX = 512;
/** Steps from one position: those of a few repetitions without a bound on a whole line, but not for each length of another one. */
const STEPS_MAX = 8 * PATTERN_CHARS_MAX;
/** In brackets, an escape of any length, or a single character. */
const CHARACTER =
  /\[\^?(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|c.|.)|[^\\]/isuy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;
const GROUP = /\((?:\?(?:[:=!]|<[=!]|<\w+>))?/y;
const ASSERTION = /^(?:[\^$]|\\[bB])$/;
/** Stand for all characters that are not ASCII: where two pieces may match any of those, they may match the same. */
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

/** How a part of a pattern behaves from one position, at the worst. */
interface Effort {
  /** In how many ways it can match: what follows is tried after each. */
  readonly ways: number;
  readonly steps: number;
}

interface Atom extends Effort {
  /** Its source, if it is one character. */
  readonly character: string | undefined;
}

interface Piece extends Atom {
  readonly min: number;
  readonly max: number;
}

/** Reads a valid source from left to right. */
class Reading {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** @param isLast nothing follows that could fail, so that nothing is tried again */
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

/** Whether only one length of a repetition can be right, since the next piece begins with what it cannot match. */
function isEndedBy({ character, ways }: Piece, next: Piece): boolean {
  if (ways > 1 || character === undefined || next.character === undefined || next.min === 0) return false;
  const [one, other] = [character, next.character].map((source) => new RegExp(`^${source}$`, 'su'));
  return (
    !SAMPLES.some((sample) => one?.test(sample) && other?.test(sample)) &&
    !isBeyondBoth(character, next.character)
  );
}

const SAMPLES = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), ...BEYOND_ASCII];

/** Whether both name characters beyond ASCII, of which the samples are not enough. */
function isBeyondBoth(one: string, other: string): boolean {
  const isBeyond = (source: string): boolean =>
    /\P{ASCII}|\\[uxpPc]/u.test(source) ||
    BEYOND_ASCII.some((sample) => new RegExp(`^${source}$`, 'su').test(sample));
  return isBeyond(one) && isBeyond(other);
}

function repeated({ ways, steps, min, max }: Piece): Effort {
  const most = Math.min(max, PATTERN_CHARS_MAX);
  const lengths = most - Math.min(min, most) + 1;
  // Each repetition but the last one moves on by as much as it reads.
  if (ways === 1) return { ways: lengths, steps: Math.max(0, most - 1) + steps };
  if (max === Number.POSITIVE_INFINITY)
    throw new Flaw(
      'repeats, without a bound, a part that can match in several ways: use a class of characters',
    );
  return { ways: ways ** max * lengths, steps: ways ** max * lengths * steps };
}
