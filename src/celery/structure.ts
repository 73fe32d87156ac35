/**
 * Looks at the structure of a JSON text before anything is made of it: how deep it nests and how many tokens it has. It
 * stops at the first excess, knows nothing of what is in the text and does not care whether it is JSON at all: up to the
 * first mistake it sees what a parser sees, and no parser goes on behind that.
 */
import { BODY_LIMITS } from './body-limits.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const DEPTH_MAX = BODY_LIMITS.depth.max;
const TOKENS_MAX = BODY_LIMITS.tokens.max;

export type Excess = 'nested-too-deep' | 'too-many-tokens';

/**
 * What there is too much of. A token is a value or a name; before each but the first stands one of `[{,:`, so that an
 * empty list counts as one more.
 * @param body in UTF-8, or in another character set whose first 128 characters are those of ASCII, one byte each
 */
export function excessOf(body: Uint8Array): Excess | undefined {
  let depth = 0;
  let tokens = 1;
  for (let at = 0; at < body.length; at += 1) {
    switch (body[at]) {
      case QUOTE:
        at = endOfText(body, at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        tokens += 1;
        if (depth > DEPTH_MAX) return 'nested-too-deep';
        if (tokens > TOKENS_MAX) return 'too-many-tokens';
        break;
      case COMMA:
      case COLON:
        tokens += 1;
        if (tokens > TOKENS_MAX) return 'too-many-tokens';
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
    }
  }
  return undefined;
}

/** The position of the quote that closes the text which opens at `open`, or behind all of it. */
function endOfText(body: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1;
  return at;
}
