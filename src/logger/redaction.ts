/**
 * Replaces secrets in texts of exceptions by `***`: user information in URLs, values after names such as `password` or one of
 * the user's, private keys, secrets of a known form, and matches of the user's patterns. Except for these patterns, its time is linear in the text. It does
 * not bound texts. Pure.
 */
import { isGap } from './bounded-text.ts';
import type { LogSettings } from './log-settings.ts';
import { type Part, pemKeys } from './pem-keys.ts';
import { knownForms } from './secret-forms.ts';
import { ESCAPED_QUOTE, isQuoted, valueEnd } from './secret-value.ts';
import { type TellingNames, tellingNames } from './telling-names.ts';

const REPLACEMENT = '***';

/**
 * How much of a line is matched with the user's patterns, so that backtracking cannot take long. The rest of the line is left
 * out, since it may contain a secret. `redact-pattern.ts` refuses patterns that would take long even so.
 */
export const PATTERN_CHARS_MAX = 1024;

/** How much before a cut is left out, since it may be the beginning of a match that the cut has torn. */
const TORN_CHARS = 256;

/**
 * The `://` of a URL, also percent-encoded once or twice, or with slashes that are escaped in JSON; and what follows up to a
 * space, a quote or another URL.
 */
const AUTHORITY =
  /((?::|%(?:25)?3A)(?:\\?\/|\\{1,16}u002f|%(?:25)?2F){2})((?:(?![,;|]\s?[a-z][\w+.-]{0,30}:\/\/)[^\s"'`<>])*)(?=([\s\S]?))/gi;
interface Punctuation {
  readonly at: RegExp;
  readonly colon: RegExp;
  readonly pathBegins: RegExp;
  /** A port at the end of a text. */
  readonly port: RegExp;
}
const PLAIN: Punctuation = { at: /@/g, colon: /:/, pathBegins: /[/?#]/, port: /:\d*$/ };
const ENCODED: Punctuation = {
  at: /%40/g,
  colon: /%3A/i,
  pathBegins: /[/?#]|%(?:2F|3F|23)/i,
  port: /%3A\d*$/i,
};
const ENCODED_TWICE: Punctuation = {
  at: /%2540/g,
  colon: /%253A/i,
  pathBegins: /[/?#]|%25(?:2F|3F|23)/i,
  port: /%253A\d*$/i,
};

/** No client reads `http://host:80/…` as a user and the beginning of a password. */
const HTTP = /https?$/i;
const HOST_AND_PORT = /^(?:[\w.-]{1,255}|\[[\da-f:.]{2,45}\]):\d{1,5}$/i;

function punctuationBehind(separator: string): Punctuation {
  if (!separator.startsWith('%')) return PLAIN;
  return separator.startsWith('%25') ? ENCODED_TWICE : ENCODED;
}

/** Headers whose values have several words. */
const LINES: ReadonlySet<string> = new Set(['authorization', 'cookie']);
const QUOTE = String.raw`\\{0,16}(?:["'\`]|${ESCAPED_QUOTE})`;
/** What may follow a name. Several spaces may align values in columns. */
const AFTER_NAME = new RegExp(String.raw`(${QUOTE})?[\])]?([^\S\r\n]{0,64})`, 'iy');
/** Between a name and its value; also percent-encoded once or twice, or escaped as some JSON and HTML is. */
const SEPARATOR =
  /(?:=+>?|-+>|:=?|>|%(?:25)?3[AD]|\\{1,16}u003[ad]|&#(?:58|61|x3[ad]);)(?:[^\S\r\n]{0,64}|\+|%20)/iy;
/** Before a string on the line below a separator, as code and `pprint` have it. */
const BELOW = /\r?\n[ \t]{0,200}(?=[bruf]{0,2}\\{0,16}["'])/iy;
const SPACE = /(?:[ \t]{1,16}|\+|%20)/y;
const COMMA = /,[ \t]{0,16}/y;
/** A name in quotes that is the next key of a map. */
const KEY = new RegExp(String.raw`(${QUOTE})[\w.-]{1,64}\1[ \t]{0,4}:`, 'iy');
/** `"name": "password", "value": "x"`, `<input name="password" value="x">`, also on the next line. */
const VALUE = new RegExp(
  String.raw`(?:,?\s{0,64}(?:${QUOTE})?[\w.-]{1,32}(?:${QUOTE})?[ \t]{0,4}[:=][ \t]{0,4}(?:${QUOTE})[^"'\n<>]{0,64}(?:${QUOTE})){0,2}?,?[ \t]{0,16}(?:\r?\n[ \t]{0,64})?(?:${QUOTE})?value(?:${QUOTE})?[ \t]{0,8}[:=][ \t]{0,8}`,
  'iy',
);
/** Before a name that is a value itself, as in the YAML of Kubernetes: `- name: PASSWORD`. */
const NAMED = /(?:name|key)["']?[ \t]{0,4}[:=][ \t]{0,4}[\w.-]{0,40}$/i;
/** After the name of a field in a multipart body, also as Python escapes it. */
const EMPTY_LINE = /(?:\r?\n|(?:\\r)?\\n){2}/y;
const FIELD = /\bname=\\{0,16}["'][\w.-]{0,40}$/i;
/** A name, and what is behind it: the line of a file, words of an exception, an action of AWS, the worker of a task. */
const ORDINARY = [
  [/\.(?:py|pyx?|js|ts|rb|go|java|rs|php|c|cpp|html?)$/i, /:/y],
  [/(?:Error|Exception|Warning)$/, /: \(?[a-z_]{1,64}(?=[,;.:)\]'"]{0,3}(?:\s|$))/iy],
  [/^secretsmanager$/i, /:/y],
  [/^salt-(?:minion|master|call|api|ssh)$/i, /:/y],
  [/^tokens/i, /["']?(?:=|: ?)\d{1,9}(?![\w.-])/y],
  [/./, /["']?\]?[ \t]{0,4}[:=][ \t]{0,4}(?:None|null|undefined|True|False|true|false)(?=[\s,;:)\]}'"]|$)/y],
  [/token$/i, /: celery@[\w.-]{1,255}(?=[,;:)\]'"]{0,3}(?:\s|$))/y],
] as const;
/** Between a name and its value in a sentence, a query or a condition. What has no quotes around it has a digit in it. */
const SAID = [
  /(?:(?:is|was|not|in|like|ilike)[ \t]{1,4}|(?:!=|<>)[ \t]{0,4}|for[ \t]["']?[\w@.+-]{1,64}["']?[:=][ \t]{1,4}){1,3}(?=[([]?[bruf]{0,2}\\{0,16}["'])/iy,
  /(?:(?:is|was)[ \t]{1,4}|for[ \t]["']?[\w@.+-]{1,64}["']?[:=][ \t]{1,4})(?=[^\s\d]{0,64}\d)(?=[^\s"'()[\]{},;]{4})/iy,
] as const;
/** A word behind a name that looks as if it was made at random, and is no id of a task: letters and digits, or a long number. */
const RANDOM =
  /(?![\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12})(?:(?=[\w+=~.-]{0,64}?\d[\w+=~.-]{0,64}?\d)(?=[\d+=~._-]{0,64}[a-z])[\w+=~.-]{8,256}|\d(?:[ -]?\d){11,22})(?=[\s,;:)\]'"]|$)/iy;
/** `Unexpected token '<'`, as parsers write it. */
const EXPECTED = /expected $/i;
const SYNTAX = /(["'`])[^"'`\d\n]{0,32}\1/y;
/** A block of YAML, whose indented lines are the value. */
const BLOCK = /[|>][-+]?\d?[ \t]{0,8}\r?\n(?:[ \t]*\r?\n|[ \t]+\S[^\n]*(?:\n|$))+/y;
const CDATA = '<![CDATA[';
/**
 * The columns of an SQL statement and their values, the text of one and its parameters as SQLAlchemy prints them, the columns of a key and
 * their values as PostgreSQL does, or the name of a field and its value as Pydantic does.
 */
const POSITIONAL = [
  /\b(?:insert|replace)\s{1,8}(?:ignore\s{1,8}|or\s{1,8}\w{1,16}\s{1,8})?into\s{1,8}[\w."`[\]]{1,128}\s{0,8}\(([^()]{1,2048})\)\s{0,8}values\s{0,8}(\([^\n]{1,4096}(?:\n\s{0,64}\([^\n]{1,4096}){0,50})/gi,
  /\[SQL: ((?:[^\0[]|\[(?!SQL: )){1,2048}?)\]\s{1,4}\[parameters: ([^\n]{1,8192})/g,
  /\bKey \(([^()\n]{1,512})\)=(\((?:[^\nK]|K(?!ey \()){0,1024}?\))(?= (?:already|conflicts|is )|\.?$)/gm,
  /^([\w.-]{1,128})\n {2}[^\n]{1,512}? \[type=(?!missing)\w{1,64}, input_value=([^\n]{1,1024}?)(?=, input_type=)/gm,
] as const;
/** The beginning of an XML element, up to the name of the secret. */
const ELEMENT = /<[\w.:-]{0,80}$/;
const CLOSING_TAG = /<\/[\w.:-]{0,40}$/;
/** What may be before a name that decides whether it has a value. */
const BEFORE_CHARS_MAX = 81;
const ATTRIBUTE = /[\w.:-]{1,64}=["']/y;
/** The beginning of a command-line option, up to the name of the secret. */
const OPTION = /(?:^|[\s"'`])--?[\w-]{0,40}$/;
/** Terminal colours, which may be between a name and its value; also as Python and JSON escape them. */
const COLOUR = /(?:\p{Cc}|\\{1,16}(?:x|u00)1b)\[[\d;]{0,32}m/giu;
/** Characters without a width, which may be within a name or a secret. */
const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]/gu;

/** What else is hidden than what always is. The flags `g` and `y` of patterns make no difference. */
export type FurtherSecrets = Pick<LogSettings, 'redact' | 'redactNames'>;
const NO_FURTHER: FurtherSecrets = { redact: [], redactNames: [] };

/**
 * The text without secrets and terminal colours. Bound the text first; if its middle was cut out, apply `withoutTorn` before.
 * @param isCut whether the end of the text may be missing
 */
export function redacted(given: string, { redact, redactNames } = NO_FURTHER, isCut = false): string {
  const text = given.replaceAll(COLOUR, '').replaceAll(INVISIBLE, '');
  const names = tellingNames(redactNames);
  const secrets = [userInfos, namedValues, positionalValues, pemKeys, knownForms]
    .flatMap((find) => find(text, names))
    .sort((one, other) => one.from - other.from);
  const parts: string[] = [];
  let shownTo = 0;
  for (const { from, to } of secrets) {
    if (from >= shownTo) parts.push(text.slice(shownTo, from), REPLACEMENT);
    shownTo = Math.max(shownTo, to);
  }
  const shown = secrets.length === 0 ? text : parts.join('') + text.slice(shownTo);
  return redact.length === 0 ? shown : withoutMatches(shown, redact, isCut);
}

/** `user:secret` in `redis://user:secret@host` */
function userInfos(text: string): readonly Part[] {
  const found: Part[] = [];
  for (const match of text.matchAll(AUTHORITY)) {
    const [, separator = '', rest = '', next = ''] = match;
    const { at, colon, pathBegins, port } = punctuationBehind(separator);
    const pathAt = rest.search(pathBegins);
    const authority = pathAt < 0 ? rest : rest.slice(0, pathAt);
    const hasColon = colon.test(authority);
    const isPort = HOST_AND_PORT.test(authority) && isBefore(HTTP, text, match.index);
    // A password may contain a slash, although it should be encoded.
    const lastAt = [...(hasColon && !isPort ? rest : authority).matchAll(at)].at(-1)?.index;
    // The text may have been cut within a password.
    const isCut = (next === '' || next === '\n') && pathAt < 0 && hasColon && !port.test(authority);
    const from = match.index + separator.length;
    if (lastAt !== undefined) found.push({ from, to: from + lastAt });
    else if (isCut) found.push({ from, to: from + rest.length });
  }
  return found;
}

/** `'x y'` in `'password': 'x y'` */
function namedValues(text: string, { each: name }: TellingNames): readonly Part[] {
  const parts: Part[] = [];
  name.lastIndex = 0;
  for (let found = name.exec(text); found !== null; found = name.exec(text)) {
    const [all, word = '', suffix = ''] = found;
    const nameEnd = found.index + all.length;
    const value = valueAt(text, found.index, nameEnd, suffix === '' ? word.toLowerCase() : '');
    // If there is no value, the rest of the name may contain another word of a secret.
    name.lastIndex = found.index + word.length;
    if (value === undefined || isOrdinary(all, text, nameEnd)) continue;
    const isLine = LINES.has(word.toLowerCase());
    const block = lengthAt(BLOCK, text, value.at);
    const to =
      block > 0 ? value.at + block : valueEnd(text, value.at, { isLine, isElement: value.isElement });
    if (to > value.at) parts.push({ from: value.at, to });
    name.lastIndex = Math.max(to, name.lastIndex);
  }
  return parts;
}

/** `('bob', 'x')` in `INSERT INTO users (name, password) VALUES ('bob', 'x')` */
function positionalValues(text: string, { any: name }: TellingNames): readonly Part[] {
  return POSITIONAL.flatMap((statement) =>
    Array.from(text.matchAll(statement)).flatMap(({ index, 0: all, 1: columns = '', 2: values = '' }) => {
      const to = index + all.length;
      return name.test(columns) ? { from: to - values.length, to } : [];
    }),
  );
}

/** Where the value after a name begins; undefined if there is none. */
function valueAt(
  text: string,
  nameAt: number,
  nameEnd: number,
  word: string,
): { readonly at: number; readonly isElement: boolean } | undefined {
  AFTER_NAME.lastIndex = nameEnd;
  const [after = '', closing, space = ''] = AFTER_NAME.exec(text) ?? [];
  const from = nameEnd + after.length;
  const separator = lengthAt(SEPARATOR, text, from);
  if (separator > 0) {
    if (text[from] === '>' && isBefore(CLOSING_TAG, text, nameAt)) return undefined;
    const at = from + separator + lengthAt(BELOW, text, from + separator);
    return { at: text.startsWith(CDATA, at) ? at + CDATA.length : at, isElement: text[from] === '>' };
  }
  if (closing !== undefined) {
    const empty = lengthAt(EMPTY_LINE, text, from);
    if (empty > 0 && isBefore(FIELD, text, nameAt)) return { at: from + empty, isElement: false };
    const key = lengthAt(VALUE, text, from);
    if (key > 0) return { at: from + key, isElement: false };
    // `('password', 'x')`, a frequent form of headers and form fields.
    const comma = lengthAt(COMMA, text, from);
    const isPair = comma > 0 && isQuoted(text, from + comma) && lengthAt(KEY, text, from + comma) === 0;
    return isPair ? { at: from + comma, isElement: false } : undefined;
  }
  if (isBefore(NAMED, text, nameAt)) {
    const key = lengthAt(VALUE, text, nameEnd);
    if (key > 0) return { at: nameEnd + key, isElement: false };
  }
  if (space !== '') {
    const isSaid = isQuoted(text, from) ? !isSyntax(text, nameAt, from) : lengthAt(RANDOM, text, from) > 0;
    if (isSaid) return { at: from, isElement: false };
    const said = Math.max(...SAID.map((words) => lengthAt(words, text, from)));
    if (said > 0) return { at: from + said, isElement: false };
  }
  if (lengthAt(ATTRIBUTE, text, from) > 0 && isBefore(ELEMENT, text, nameAt))
    return { at: from, isElement: true };
  const spaces = word === 'bearer' || isBefore(OPTION, text, nameAt) ? lengthAt(SPACE, text, nameEnd) : 0;
  return spaces > 0 ? { at: nameEnd + spaces, isElement: false } : undefined;
}

/** Whether what looks like the value of a name is none. */
function isOrdinary(name: string, text: string, nameEnd: number): boolean {
  return ORDINARY.some(([ofName, behind]) => ofName.test(name) && lengthAt(behind, text, nameEnd) > 0);
}

function isSyntax(text: string, nameAt: number, at: number): boolean {
  return isBefore(EXPECTED, text, nameAt) && lengthAt(SYNTAX, text, at) > 0;
}

/** @param pattern ends with `$` */
function isBefore(pattern: RegExp, text: string, at: number): boolean {
  return pattern.test(text.slice(Math.max(0, at - BEFORE_CHARS_MAX), at));
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

function withoutMatches(text: string, patterns: readonly RegExp[], isCut: boolean): string {
  const all = patterns.map((pattern) => new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, '')}g`));
  const lines = text.split('\n');
  return lines
    .map((line, index) => {
      const isLong = line.length > PATTERN_CHARS_MAX;
      const seen = isLong ? line.slice(0, PATTERN_CHARS_MAX) : line;
      const shown = all.reduce(
        // An empty match has nothing to hide.
        (left, pattern) => left.replaceAll(pattern, (match) => (match === '' ? '' : REPLACEMENT)),
        seen,
      );
      const next = lines[index + 1];
      const isTorn = isLong || (next === undefined ? isCut : isGap(next));
      return isTorn ? `${shown.slice(0, Math.max(0, shown.length - TORN_CHARS))}…` : shown;
    })
    .join('\n');
}
