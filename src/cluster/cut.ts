/** Cuts texts that are kept for long. Pure. */

/** The beginning of the text: a copy where it is cut, since a part of a text keeps the memory of all of it. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return Buffer.from(text.slice(0, charsMax).toWellFormed(), 'utf16le').toString('utf16le');
}
