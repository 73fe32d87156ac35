/** The result of parsing untrusted text: a value, or a readable reason without secrets. Parsers return one, and never throw. */

export type Parsed<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly reason: string };

export function failed(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
