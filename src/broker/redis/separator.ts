/**
 * Derives, from the names that workers write to Redis, the separator that kombu puts between a queue and its priority, and
 * between the parts of a binding (transport/redis.py, `sep`). Pure.
 */

/** kombu’s default. */
export const SEPARATOR = '\u0006\u0016';
/** The longest separator that is recognized: separators are configurable, but short. */
const SEPARATOR_CHARACTERS_MAX = 64;

/**
 * The separator with which a worker writes its member, `SEP SEP name`: the longest text that occurs twice at the beginning.
 * @returns undefined if no text does
 */
export function separatorOf(member: string): string | undefined {
  for (let length = Math.min(SEPARATOR_CHARACTERS_MAX, member.length / 2) | 0; length > 0; length -= 1) {
    const separator = member.slice(0, length);
    if (member.startsWith(separator, length)) return separator;
  }
  return undefined;
}

/**
 * The nodename of the worker of a mailbox, which is named `nodename.exchange` (kombu: pidbox.py, `get_queue`).
 * @returns undefined if it has another separator, or is not a mailbox
 */
export function nodenameOf(member: string, separator: string, exchange: string): string | undefined {
  if (separatorOf(member) !== separator) return undefined;
  const [before, after] = [2 * separator.length, `.${exchange}`];
  return member.endsWith(after) && member.length > before + after.length
    ? member.slice(before, -after.length)
    : undefined;
}
