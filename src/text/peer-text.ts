/**
 * Makes texts of peers (brokers, backends, proxies) fit to be shown: on one line, of bounded length, and without the
 * secrets that the peer was given, however it encodes them. Pure.
 */
import { unescape as percentDecoded } from 'node:querystring';
import { printable } from './printable.ts';

/** Characters that are shown. */
const SHOWN_MAX = 1000;
/** Characters that are read. */
const READ_MAX = 16_384;
/** A secret of this length is hidden anywhere. A shorter one may be part of a word, as `dev` in `device`. */
const ANYWHERE_MIN = 4;
/**
 * A word of a secret of this length is hidden anywhere: the token after `Bearer`, but not `Bearer`. A shorter secret is hidden in
 * another case only where it stands alone: `wrong` is in WRONGPASS.
 */
const WORD_MIN = 8;
/** A peer may truncate what it repeats (Redis: after 128 bytes): the first characters of a secret are enough to match. */
const BEGINNING = 8;
/** Fewer characters of base64 could be part of any word. */
const BASE64_MIN = 5;
/** Hidden as a whole word. Not a single letter or a short number, which may be a status or a time. */
const SHORT = /^(?:(?=.*\p{L}).{2,}|.{4,})$/u;
const HIDDEN = '***';
/** A text may be escaped more than once, as JSON within JSON. */
const DECODINGS_MAX = 4;

/** An OpenSSL error: the message between thread, error code, function and source line. */
const OPENSSL =
  /\b[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:(?<words>[^:]+):[^:\s]*:\d+:(?: ?SSL alert number \d+)?/gu;

/** Makes one text fit to be shown. */
export type PeerText = (text: string) => string;

/** @param secrets what the peer was given and must not be shown: passwords, values of headers, tokens */
export function createPeerText(secrets: Iterable<string>): PeerText {
  const needles = needlesOf(secrets);
  return (text) => {
    const plain = text.slice(0, READ_MAX).replace(OPENSSL, '$<words>');
    const line = printable(hidden(plain, needles).replace(/\s+/gu, ' ').trim());
    return line.length <= SHOWN_MAX ? line : `${line.slice(0, SHOWN_MAX - 1).trimEnd()}…`;
  };
}

/**
 * The secrets in a URL that a peer may repeat: its password, or a user without one, which is a key; and the values of
 * its query.
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

/** A decoded text to search for. */
interface Needle {
  /** In lower case. */
  readonly text: string;
  readonly cased: string;
  readonly is: 'anywhere' | 'alone' | 'base64';
}

/** The longest first: one secret may be part of another. */
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
    // A short value, or a short token after its scheme (RFC 9110, 11.4), but no words of a sentence.
    if (more.length === 0 && second.length < WORD_MIN && SHORT.test(second)) add('alone', second);
  }
  return [...found.values()].toSorted((a, b) => b.text.length - a.text.length);
}

/** The secrets, and the decoded form of those in base64, such as user and password of HTTP `Basic`. */
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
 * Its base64 form at each of the three offsets within a group of three bytes, without the characters that depend on its
 * neighbours.
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

/** A text in which escapes are replaced by what they stand for; and where each of its characters is in the original. */
interface Decoded {
  /** In lower case. */
  readonly text: string;
  readonly cased: string;
  /** By index: where it begins; one more for the end. */
  readonly at: readonly number[];
}

/** %41, A, \x41, A, &amp;, and characters after a backslash. */
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
  // The few characters whose lower case has another length stay as they are.
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

/** The characters of encoded bytes, and at which byte each begins; an invalid byte is a character of its own. */
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

/** Of several words or parameters, the first may be a common one. */
const FIRST_WORD_ENDS = /[\s&]|=(?=[^=])/u;
const WORD_CHARACTER = /[\p{L}\p{N}_]/u;

function hidden(original: string, needles: readonly Needle[]): string {
  if (needles.length === 0) return original;
  const { text, cased, at } = decodedText(original);
  // Base64 for URLs has other characters.
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

/** How many characters of the needle match there. */
function sharedLength(text: string, from: number, needle: string): number {
  let length = 0;
  while (length < needle.length && text[from + length] === needle[length]) length += 1;
  return length;
}

const BASE64 = /[a-z0-9+/]/u;

/** The whole base64 text around the match: it contains the user name, too. */
function runAround(text: string, from: number, to: number): readonly [from: number, to: number] {
  let [begin, end] = [from, to];
  while (begin > 0 && BASE64.test(text[begin - 1] ?? '')) begin -= 1;
  while (end < text.length && BASE64.test(text[end] ?? '')) end += 1;
  while (text[end] === '=') end += 1;
  return [begin, end];
}

/** Not within a word, a path, a host name or a dotted number. */
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
