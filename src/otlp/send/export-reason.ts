/**
 * Makes what backends and sockets say fit for a log line: one line, bounded, and without the values of headers, which
 * a backend may repeat. Pure.
 */

const LENGTH_MAX = 300;
/** Shorter ones are words like `dev` or `1`, and would be taken out of every sentence. */
const VALUE_LENGTH_MIN = 4;
/** Of a part of a value: `Bearer` may stay, the token behind it may not. */
const WORD_LENGTH_MIN = 8;
const HIDDEN = '***';

/** @param secrets values of headers */
export function createReasonText(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets
    .flatMap((value) => [
      ...(value.length >= VALUE_LENGTH_MIN ? [value] : []),
      ...value.split(/\s+/u).filter((word) => word.length >= WORD_LENGTH_MIN),
    ])
    .toSorted((a, b) => b.length - a.length);
  return (text) => {
    const open = hidden.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
    const line = open.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
    return line.length <= LENGTH_MAX ? line : `${line.slice(0, LENGTH_MAX - 1).trimEnd()}…`;
  };
}

/** What an error says; of several attempts to connect to one name, the first, for Node gives all of them no message. */
export function errorText(error: Error): string {
  if (error.message !== '') return error.message;
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error && first.message !== '' ? first.message : error.name;
}
