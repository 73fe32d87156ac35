/**
 * Makes what backends and sockets say fit for a log line: one line, bounded, and without the values of headers, which
 * a backend may repeat. Pure.
 */
import { printable } from '../../printable.ts';

const LENGTH_MAX = 300;
/** Hidden wherever it stands. Shorter ones are parts of words, as `dev` is one of `device`. */
const VALUE_LENGTH_MIN = 4;
/** Of a part of a value, wherever it stands: `Bearer` may stay, the token behind it may not. */
const WORD_LENGTH_MIN = 8;
/** Hidden where it stands by itself: not a letter, and no short number, for such are statuses and times. */
const SHORT = /^(?:(?=.*\p{L}).{2,}|.{4,})$/u;
const HIDDEN = '***';
/** An error of OpenSSL: its words, between a thread, a number, the name of a function and a line of its source. */
const OPENSSL =
  /\b[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:(?<words>[^:]+):[^:\s]*:\d+:(?: ?SSL alert number \d+)?/gu;

/** @param secrets values of headers */
export function createReasonText(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets.flatMap(anywhere).toSorted((a, b) => b.length - a.length);
  const alone = secrets.flatMap(byThemselves).map(standingAlone);
  return (text) => {
    const plain = text.replace(OPENSSL, '$<words>');
    const open = hidden.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), plain);
    const closed = alone.reduce((rest, secret) => rest.replace(secret, HIDDEN), open);
    const line = printable(closed.replace(/\s+/gu, ' ').trim());
    return line.length <= LENGTH_MAX ? line : `${line.slice(0, LENGTH_MAX - 1).trimEnd()}…`;
  };
}

function anywhere(value: string): readonly string[] {
  return [
    ...(value.length >= VALUE_LENGTH_MIN ? [value] : []),
    ...value.split(/\s+/u).filter((word) => word.length >= WORD_LENGTH_MIN),
  ];
}

/** A short value, or a short token behind the name of its scheme (RFC 9110, 11.4); the words of a sentence are none. */
function byThemselves(value: string): readonly string[] {
  const [first = '', second, ...more] = value.trim().split(/\s+/u);
  const short = second === undefined ? first : second;
  return more.length === 0 && SHORT.test(short) ? [short] : [];
}

/** Not within a word, a path, the name of a host or a number with dots. */
function standingAlone(secret: string): RegExp {
  const literal = secret.replaceAll(/[\^$\\.*+?()[\]{}|/]/gu, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}_./-])${literal}(?![\\p{L}\\p{N}_/-]|\\.[\\p{L}\\p{N}])`, 'gu');
}

/** What an error says; of several attempts to connect to one name, the first, for Node gives all of them no message. */
export function errorText(error: Error): string {
  if (error.message !== '') return error.message;
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error && first.message !== '' ? first.message : error.name;
}
