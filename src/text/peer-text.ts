/**
 * Prepares texts of peers (brokers, backends, proxies) for logs and messages: one line, bounded, and without the secrets that
 * we sent to the peer, however the peer encodes them. Pure.
 */
import { unescape as percentDecoded } from 'node:querystring';
import { printable } from './printable.ts';

/** The longest result, in characters. */
const SHOWN_MAX = 1000;
/** How many characters of a text are read. */
const READ_MAX = 16_384;
/** A secret of at least this many characters is hidden anywhere. A shorter one may be part of a word, such as `dev` in `device`. */
const ANYWHERE_MIN = 4;
/**
 * A word within a secret is hidden anywhere if it has at least this many characters: the token after `Bearer`, but not `Bearer`.
 * A shorter secret that appears in another case (upper or lower) is hidden only as a whole word: `wrong` is part of WRONGPASS.
 */
const WORD_MIN = 8;
/** A peer may truncate what it repeats (Redis: after 128 bytes), so this many characters of a secret are enough to match. */
const BEGINNING = 8;
/** How many characters of base64 are needed to match: fewer could be part of any word. */
const BASE64_MIN = 5;
/** Matches a short secret that is hidden as a whole word. Single letters and short numbers are not hidden: they may be a status or a time. */
const SHORT = /^(?:(?=.*\p{L}).{2,}|.{4,})$/u;
const HIDDEN = '***';
/** How often escapes are decoded: a text may be escaped more than once, as JSON within JSON. */
const DECODINGS_MAX = 4;

/** An OpenSSL error: `words` is the message, between thread, error code, function and source line. */
const OPENSSL =
  /\b[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:(?<words>[^:]+):[^:\s]*:\d+:(?: ?SSL alert number \d+)?/gu;

/** Prepares one text of a peer. */
export type PeerText = (text: string) => string;

/** @param secrets what we sent to the peer and must hide: passwords, values of headers, tokens */
export function createPeerText(secrets: Iterable<string>): PeerText {
  const needles = needlesOf(secrets);
  return (text) => {
    const plain = text.slice(0, READ_MAX).replace(OPENSSL, '$<words>');
    const line = printable(hidden(plain, needles).replace(/\s+/gu, ' ').trim());
    return line.length <= SHOWN_MAX ? line : `${line.slice(0, SHOWN_MAX - 1).trimEnd()}…`;
  };
}

/**
 * The secrets in a URL that a peer may repeat: the password, or, if there is none, the user, which then is a key; and the
 * values in the query.
 */
export function urlSecrets(url: string): readonly string[] {
  const { search = '', username = '', password: given = '' } = URL.parse(url) ?? {};
  const password = given === '' ? username : given;
  const query = search.slice(1);
  const values = query.split('&').map((pair) => pair.replace(/^[^=]*=/u, ''));
  return [query, ...values, ...new URLSearchParams(query).values(), password, percentDecoded(password)];
}

const PART_ENDS = /[\s=;,:@/?&"']+/u;
const IN_BASE64 = /^[\w+/-]{8,}={0,2}$/u;
const PLAIN = /^[\x20-\x7e]{8,}$/u;

/** A text to search for, with its escapes decoded. */
interface Needle {
  /** The text in lower case. */
  readonly text: string;
  /** The text in its original case. */
  readonly cased: string;
  /** Whether the text is hidden anywhere, only as a whole word, or as part of a base64 text. */
  readonly is: 'anywhere' | 'alone' | 'base64';
}

/** The texts to search for, longest first, since one secret may be part of another. */
function needlesOf(secrets: Iterable<string>): readonly Needle[] {
  const found = new Map<string, Needle>();
  const add = (is: Needle['is'], text: string): void => {
    const decoded = is === 'base64' ? { text, cased: text } : decodedText(text);
    if (decoded.text !== '' && !found.has(decoded.cased)) found.set(decoded.cased, { ...decoded, is });
  };
  for (const secret of withDecoded(secrets)) {
    const words = secret.trim().split(/\s+/u);
    const [first = '', second = first, ...more] = words;
    // A server may quote only a part: the token in an address, or the value of a parameter.
    const parts = secret.split(PART_ENDS).filter((part) => part.length >= WORD_MIN);
    const long = secret.length >= ANYWHERE_MIN ? [secret, ...parts] : parts;
    for (const one of long) {
      add('anywhere', one);
      add('anywhere', one.replaceAll(' ', '+'));
      add('anywhere', Buffer.from(one).toString('hex'));
      // HTTP headers and status lines are read as latin1.
      add('anywhere', Buffer.from(one).toString('latin1'));
      for (const part of base64Parts(one)) if (part.length >= BASE64_MIN) add('base64', part);
    }
    // A short value, or a short token after its scheme (RFC 9110, 11.4), but not the words of a longer text.
    if (more.length === 0 && second.length < WORD_MIN && SHORT.test(second)) add('alone', second);
  }
  return [...found.values()].toSorted((a, b) => b.text.length - a.text.length);
}

/** The secrets, and the decoded form of their parts in base64, such as the user and password of HTTP `Basic`. */
function withDecoded(secrets: Iterable<string>): readonly string[] {
  return [...secrets].flatMap((secret) => {
    const words = secret.split(/\s+/u).filter((word) => IN_BASE64.test(word));
    const decoded = words
      .map((word) => Buffer.from(word, 'base64').toString())
      .filter((text) => PLAIN.test(text));
    return [secret, ...decoded, ...decoded.map((text) => text.replace(/^[^:]*:/u, ''))];
  });
}

/**
 * The base64 form of a secret at each of the three offsets within a group of three bytes, without the characters that depend
 * on the bytes around the secret.
 */
function base64Parts(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor((whole.length * 8) / 6);
    return whole.toString('base64').slice(from, to).toLowerCase();
  });
}

/** A text with its escapes decoded, and the position of each of its characters in the original text. */
interface Decoded {
  /** The decoded text in lower case. */
  readonly text: string;
  /** The decoded text in its original case. */
  readonly cased: string;
  /** For each character, where it begins in the original; then the end of the original. */
  readonly at: readonly number[];
}

/** The escapes that are decoded: `%41`, `\x41`, `\u0041`, `
`, `&#x41;`, `&#65;`, `&amp;`. */
const ESCAPE =
  /((?:%[0-9a-f]{2})+|(?:\\x[0-9a-f]{2})+)|\\u([0-9a-f]{4})|\\(["\\/'`bfnrt])|&#x([0-9a-f]{1,6});|&#(\d{1,7});|&(amp|lt|gt|quot|apos);/gi;
const AFTER_BACKSLASH: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodedText(original: string): Decoded {
  let decoded: Omit<Decoded, 'text'> = {
    cased: original,
    at: Array.from({ length: original.length + 1 }, (_, index) => index),
  };
  for (let pass = 0; pass < DECODINGS_MAX; pass += 1) {
    const next = decodedOnce(decoded);
    if (next.cased.length === decoded.cased.length) break;
    decoded = next;
  }
  // The few characters whose lower case has another length are kept, so that positions stay the same.
  const text = [...decoded.cased].map((each) => sameLength(each.toLowerCase(), each)).join('');
  return { ...decoded, text };
}

function sameLength(changed: string, original: string): string {
  return changed.length === original.length ? changed : original;
}

function decodedOnce({ cased: text, at }: Omit<Decoded, 'text'>): Omit<Decoded, 'text'> {
  const parts: string[] = [];
  const places: number[] = [];
  const add = (part: string, placeOf: (index: number) => number): void => {
    parts.push(part);
    for (let index = 0; index < part.length; index += 1) places.push(at[placeOf(index)] ?? 0);
  };
  let from = 0;
  for (const match of text.matchAll(ESCAPE)) {
    const { index } = match;
    add(text.slice(from, index), (each) => from + each);
    from = index + match[0].length;
    if (match[1] === undefined) add(characterOf(match), () => index);
    else {
      const width = match[1].startsWith('%') ? '%41'.length : '\\x41'.length;
      for (const { character, byte } of charactersIn(match[1])) add(character, () => index + byte * width);
    }
  }
  add(text.slice(from), (each) => from + each);
  places.push(at[text.length] ?? 0);
  return { cased: parts.join(''), at: places };
}

function characterOf([, , unit, escaped, hex, decimal, entity]: RegExpExecArray): string {
  if (entity !== undefined) return ENTITIES[entity.toLowerCase()] ?? '';
  if (escaped !== undefined) return AFTER_BACKSLASH[escaped] ?? escaped;
  if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : '\ufffd';
}

/** The characters of encoded bytes, and the byte at which each begins; an invalid byte counts as one character. */
function charactersIn(encoded: string): readonly { readonly character: string; readonly byte: number }[] {
  const bytes = Buffer.from(encoded.replaceAll(/%|\\x/giu, ''), 'hex');
  const found: { character: string; byte: number }[] = [];
  for (let byte = 0; byte < bytes.length; ) {
    const first = bytes[byte] ?? 0;
    const size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const character = bytes.subarray(byte, byte + size).toString();
    const isOne = !character.includes('\ufffd');
    found.push({ character: isOne ? character : String.fromCharCode(first), byte });
    byte += isOne ? size : 1;
  }
  return found;
}

/** Where the first word or parameter of a secret ends: it may be a common word, so it does not match on its own. */
const FIRST_WORD_ENDS = /[\s&]|=(?=[^=])/u;
const WORD_CHARACTER = /[\p{L}\p{N}_]/u;

function hidden(original: string, needles: readonly Needle[]): string {
  if (needles.length === 0) return original;
  const { text, cased, at } = decodedText(original);
  // The base64 alphabet for URLs has `-` and `_` instead.
  const inBase64 = text.replaceAll('-', '+').replaceAll('_', '/');
  const isHidden = new Uint8Array(original.length);
  const hide = (from: number, to: number): void => void isHidden.fill(1, at[from], at[to]);
  for (const { text: needle, cased: inItsCase, is } of needles) {
    const within = is === 'base64' ? inBase64 : text;
    const beginning =
      is === 'alone' ? needle : needle.slice(0, needle.search(FIRST_WORD_ENDS) + 1 + BEGINNING);
    for (let from = within.indexOf(beginning); from >= 0; ) {
      const to = from + sharedLength(within, from, needle);
      const isAnywhere =
        is === 'anywhere' && (needle.length >= WORD_MIN || cased.startsWith(inItsCase, from));
      let next = Math.max(to, from + 1);
      if (is === 'base64') {
        const run = runAround(inBase64, from, to);
        hide(...run);
        next = Math.max(next, run[1]);
      } else if (isAnywhere || isAlone(text, from, to)) hide(from, to);
      from = within.indexOf(beginning, next);
    }
  }
  return masked(original, isHidden);
}

/** How many characters of the needle match at a position of a text. */
function sharedLength(text: string, from: number, needle: string): number {
  let length = 0;
  while (length < needle.length && text[from + length] === needle[length]) length += 1;
  return length;
}

const BASE64 = /[a-z0-9+/]/u;

/** The whole base64 text around a match, because it may also contain the user name. */
function runAround(text: string, from: number, to: number): readonly [from: number, to: number] {
  let [begin, end] = [from, to];
  while (begin > 0 && BASE64.test(text[begin - 1] ?? '')) begin -= 1;
  while (end < text.length && BASE64.test(text[end] ?? '')) end += 1;
  while (text[end] === '=') end += 1;
  return [begin, end];
}

/** Whether a match is not part of a word, a path, a host name or a dotted number. */
function isAlone(text: string, from: number, to: number): boolean {
  const before = text[from - 1] ?? ' ';
  const [next = ' ', afterNext = ' '] = text.slice(to, to + 2);
  if (WORD_CHARACTER.test(before) || /[./-]/u.test(before)) return false;
  return !(
    WORD_CHARACTER.test(next) ||
    /[/-]/u.test(next) ||
    (next === '.' && /[\p{L}\p{N}]/u.test(afterNext))
  );
}

function masked(original: string, isHidden: Uint8Array): string {
  const parts: string[] = [];
  for (let from = 0; from < original.length; ) {
    const to = isHidden.indexOf(isHidden[from] === 1 ? 0 : 1, from);
    const end = to < 0 ? original.length : to;
    parts.push(isHidden[from] === 1 ? HIDDEN : original.slice(from, end));
    from = end;
  }
  return parts.join('');
}
