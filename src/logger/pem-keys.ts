/**
 * Finds private keys in PEM (RFC 7468) within a text, however their lines are quoted; a key whose beginning or end was cut off,
 * only if its lines are not quoted. If in doubt it finds too much. Its time is linear. Pure.
 */

const MARKER = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** Characters of a key’s body, including the headers of encrypted keys and line breaks written as `\\n`. */
const BODY = /[\w+/=:,.\s\\-]*/y;
const BODY_CHAR = /[\w+/=\s\\]/;

export interface Part {
  readonly from: number;
  readonly to: number;
}

/** The bodies between `-----BEGIN PRIVATE KEY-----` and `-----END PRIVATE KEY-----`, or beside a marker that stands alone. */
export function pemKeys(text: string): readonly Part[] {
  const markers = [...text.matchAll(MARKER)];
  return markers
    .flatMap(({ 0: marker, 1: kind, index }, place): Part[] => {
      const next = markers[place + 1];
      const from = index + marker.length;
      if (kind === 'BEGIN') return [{ from, to: next?.index ?? bodyEnd(text, from) }];
      return markers[place - 1]?.[1] === 'BEGIN' ? [] : [{ from: bodyBegin(text, index), to: index }];
    })
    .filter(({ from, to }) => from < to);
}

function bodyEnd(text: string, at: number): number {
  BODY.lastIndex = at;
  return at + (BODY.exec(text)?.[0].length ?? 0);
}

function bodyBegin(text: string, end: number): number {
  let at = end;
  while (at > 0 && BODY_CHAR.test(text.charAt(at - 1))) at -= 1;
  return at;
}
