/**
 * Finds private keys in PEM (RFC 7468) within a text, also with line breaks as `\n`, and also where one end was cut off. It goes too
 * far rather than not far enough. Each character is looked at once. Pure.
 */

const LABEL = '[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----';
/** With headers, as encrypted keys have them. */
const BEGINNING = new RegExp(String.raw`-----BEGIN ${LABEL}((?:[\w+/=:,.\s\\]|-(?!----))*)`, 'g');
const END = new RegExp(`-----END ${LABEL}`, 'g');
const BODY_CHAR = /[\w+/=\s\\]/;

export interface Part {
  readonly from: number;
  readonly to: number;
}

/** What is between `-----BEGIN PRIVATE KEY-----` and `-----END PRIVATE KEY-----`, or beside one of them. */
export function pemKeys(text: string): readonly Part[] {
  const parts: Part[] = [];
  for (const { 0: all, 1: body = '', index } of text.matchAll(BEGINNING))
    if (body !== '') parts.push({ from: index + all.length - body.length, to: index + all.length });
  for (const { index } of text.matchAll(END)) {
    let from = index;
    while (from > 0 && BODY_CHAR.test(text.charAt(from - 1))) from -= 1;
    if (from < index) parts.push({ from, to: index });
  }
  return parts;
}
