/**
 * Caches documents: one is remade only when it is old, however often it is requested. Documents that are no longer
 * requested are dropped. Pure: the clock is an argument.
 */

const FRESH_MS = 1000;
/** A document stays fresh for this many times as long as making it took, so making takes at most a twentieth of the time. */
const FRESH_TIMES = 20;
/** An upper limit, so that a suspended machine does not keep it fresh for hours. */
const FRESH_MAX_MS = 30_000;

/** @param nowMs a monotonic clock */
export function cached(make: () => string, nowMs: () => number): () => string {
  let text = '';
  let untilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const askedMs = nowMs();
    if (askedMs >= untilMs) {
      text = make();
      untilMs = askedMs + FRESH_MS;
    }
    return text;
  };
}

/** Documents that are kept at once; of services there are fewer. */
const KEYS_MAX = 1000;

type MakeEach<Key> = (key: Key) => Promise<string | undefined>;

/**
 * One document per key; concurrent requests share the one being made.
 * @param nowMs a monotonic clock
 * @param freshTimes 0 if making them is paced elsewhere
 */
export function cachedEach<Key>(
  make: MakeEach<Key>,
  nowMs: () => number,
  freshTimes = FRESH_TIMES,
): MakeEach<Key> {
  const made = new Map<Key, { readonly text: Promise<string | undefined>; untilMs: number }>();
  return (key) => {
    const askedMs = nowMs();
    for (const [other, { untilMs }] of made) if (askedMs >= untilMs) made.delete(other);
    const known = made.get(key);
    if (known !== undefined) return known.text;
    // Somebody asks for one name after another: none of them will be asked for again.
    if (made.size >= KEYS_MAX) return make(key);
    const entry = { text: make(key), untilMs: Number.POSITIVE_INFINITY };
    made.set(key, entry);
    const done = (): void => {
      const endMs = nowMs();
      const costlyMs = Math.min(FRESH_MAX_MS, freshTimes * (endMs - askedMs));
      entry.untilMs = endMs + Math.max(FRESH_MS, costlyMs);
    };
    entry.text.then(done, done);
    return entry.text;
  };
}
