/**
 * Makes messages of backends and sockets fit for a log line: one line, of bounded length, and without header values, which
 * a backend may repeat. Pure.
 */
import { printable } from '../../printable.ts';

const LENGTH_MAX = 300;
/** A secret of this length is hidden anywhere. A shorter one may be part of a word, as `dev` in `device`. */
const VALUE_LENGTH_MIN = 4;
/** A word of a secret of this length is hidden anywhere: the token after `Bearer`, but not `Bearer`. */
const WORD_LENGTH_MIN = 8;
/** Hidden as a whole word. Not a single letter or a short number, which may be a status or a time. */
const SHORT = /^(?:(?=.*\p{L}).{2,}|.{4,})$/u;
const HIDDEN = '***';
/** An OpenSSL error: the message between thread, error code, function and source line. */
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

/** A short value, or a short token after its scheme (RFC 9110, 11.4), but no words of a sentence. */
function byThemselves(value: string): readonly string[] {
  const [first = '', second, ...more] = value.trim().split(/\s+/u);
  const short = second === undefined ? first : second;
  return more.length === 0 && SHORT.test(short) ? [short] : [];
}

/** Not within a word, a path, a host name or a dotted number. */
function standingAlone(secret: string): RegExp {
  const literal = secret.replaceAll(/[\^$\\.*+?()[\]{}|/]/gu, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}_./-])${literal}(?![\\p{L}\\p{N}_/-]|\\.[\\p{L}\\p{N}])`, 'gu');
}
