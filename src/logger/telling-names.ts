/**
 * The table of words in the names of secrets, such as `password`, and the pattern that finds a name with one of them, or with a
 * word of the user. It finds no values. Its time is linear in the text. Pure.
 */

/** Anywhere in a name. */
const PARTS = [
  'passw(?:or[dt]|d)',
  'pass[-_ ]?(?:code|key)',
  'passphrase',
  'pwd',
  'secret',
  'token',
  'credential',
  '(?:api|access|private|account|signing|encryption|master|shared|ssh|licen[cs]e|activation|recovery)[-_ ]?key',
  'sess(?:ion)?[-_ ]?(?:id|key)',
  String.raw`connect\.sid`,
  '(?:amz|goog)[-_]signature',
  'cookie',
  'authorization',
  'bearer',
  'card[-_ ]?(?:number|no)',
  '(?:security|verification|auth|activation|recovery|backup|pin|otp)[-_ ]?code',
  'social[-_ ]?security',
  'connection[-_ ]?string',
  // `DBPASS`, `userpass`: the end of a name, but not of one of these words.
  '(?<!by|com|sur|tres|over|under|low|high|band|all|multi|single|one|two)pass(?![a-z])',
];
/** With no letter before or behind them. Azure’s shared access signatures use `sig`. */
const WORDS = [
  'jwt',
  'pw',
  'creds?',
  'sig',
  'pin',
  'otp',
  'totp',
  'mfa',
  'dsn',
  'salt',
  'seed',
  'nonce',
  'cvv2?',
  'cvc',
  'iban',
  'ssn',
];
const NO_LETTER_BEFORE = '(?<![a-z])';
const NO_LETTER_AFTER = '(?![a-z])';
/** The rest of a name. */
const REST = String.raw`[\w.-]{0,64}`;

export const FURTHER_MAX = 64;
export const FURTHER_CHARS_MAX = 64;
/** At least two letters or digits, and `*` for further letters at either end. */
const FURTHER = /^\*?(?:[._-]*[\p{L}\p{N}]){2}[\p{L}\p{N}._-]*\*?$/u;

/** Whether a word of the user can be part of a name. */
export function isTellingWord(word: string): boolean {
  return word.length <= FURTHER_CHARS_MAX && FURTHER.test(word);
}

/** The first group of a match is the word, the second one is the rest of the name. */
export interface TellingNames {
  /** With the flag `g`. */
  readonly each: RegExp;
  readonly any: RegExp;
}

/** Of each list of words, since compiling takes longer than searching a short text. */
const COMPILED = new WeakMap<readonly string[], TellingNames>();

/** @param further words of the user; the same list each time */
export function tellingNames(further: readonly string[]): TellingNames {
  const known = COMPILED.get(further);
  if (known !== undefined) return known;
  const builtIn = [...PARTS, `${NO_LETTER_BEFORE}(?:${WORDS.join('|')})${NO_LETTER_AFTER}`];
  const source = `(${[...builtIn, ...further.map(sourceOf)].join('|')})(${REST})`;
  const names = { each: new RegExp(source, 'gi'), any: new RegExp(source, 'i') };
  COMPILED.set(further, names);
  return names;
}

/** The parts of a name may be separated in several ways, or not at all: `card_holder`, `Card-Holder`, `cardHolder`. */
function sourceOf(word: string): string {
  const plain = word.replaceAll('*', '');
  const source = plain.replaceAll(/[-_]+|\./g, (found, at: number) => {
    if (found === '.') return String.raw`\.`;
    const isWithin = at > 0 && at + found.length < plain.length;
    return isWithin ? '[-_ ]?' : '[-_]';
  });
  return `${word.startsWith('*') ? '' : NO_LETTER_BEFORE}${source}${word.endsWith('*') ? '' : NO_LETTER_AFTER}`;
}
