/**
 * Finds private keys in PEM (RFC 7468) within a text, however their lines are quoted; where one end was cut off, only if they are not.
 * It goes too far rather than not far enough, and its time is linear. Pure.
 */

const MARKER = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** Of a body, with the headers of encrypted keys, and line breaks also as `\\n`. */
const BODY = /[\w+/=:,.\s\\-]*/y;
const BODY_CHAR = /[\w+/=\s\\]/;

export interface Part {
  readonly from: number;
  readonly to: number;
}

/** What is between `-----BEGIN PRIVATE KEY-----` and `-----END PRIVATE KEY-----`, or beside one of them. */
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
