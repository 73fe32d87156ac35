/**
 * Caches documents: each is made again only when it is old, however often it is requested. Documents that nobody
 * requests are dropped. Pure: the clock is an argument.
 */

/** A document stays fresh for at least this long. */
const FRESH_MS = 1000;
/**
 * It also stays fresh for this many times as long as it took to make, so making takes at most a twentieth of the time.
 */
const FRESH_TIMES = 20;
/** The upper limit of that, so that a machine that was suspended meanwhile does not keep a document for hours. */
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

/** How many documents are kept at once; there are fewer services. */
const KEYS_MAX = 1000;

type MakeEach<Key> = (key: Key) => Promise<string | undefined>;

/**
 * Caches one document per key; concurrent requests share the one that is being made.
 * @param nowMs a monotonic clock
 * @param freshTimes see FRESH_TIMES; 0 if the caller paces the making
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
    // Somebody requests one name after another, none of them twice: do not keep them.
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
