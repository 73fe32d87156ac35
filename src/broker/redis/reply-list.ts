/**
 * Takes replies off our list in Redis, to which any client may push: an element that is too long stays on the server,
 * and only its length is transferred. It never waits.
 */
import type { Redis } from 'ioredis';

/** The most elements per call, which blocks the server; fewer if one is too long or together they reach the size limit. */
const TAKEN_MAX = 100;

/** KEYS: the list. ARGV: the most bytes of an element, and the most elements. An integer stands for a longer element. */
const SCRIPT = `
local taken, bytes, most = {}, 0, tonumber(ARGV[1])
for at = 1, tonumber(ARGV[2]) do
  local element = redis.call('RPOP', KEYS[1])
  if not element then break end
  if #element > most then
    taken[at] = #element
    break
  else
    taken[at] = element
    bytes = bytes + #element
    if bytes > most then break end
  end
end
return taken
`;

/**
 * @param bytesMax the most bytes of one element
 * @returns the replies in the order in which they were pushed; none if the list is empty
 * @throws the error of Redis
 */
export async function takeReplies(
  client: Redis,
  list: string,
  bytesMax: number,
): Promise<readonly (Buffer | 'too-large')[]> {
  const taken: unknown = await client.callBuffer('EVAL', SCRIPT, 1, list, bytesMax, TAKEN_MAX);
  const elements: readonly unknown[] = Array.isArray(taken) ? taken : [];
  return elements.map((element) => (Buffer.isBuffer(element) ? element : 'too-large'));
}
