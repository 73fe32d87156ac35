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

type MakeService = (index: number) => Promise<string | undefined>;

/**
 * One document per service, with up to thousands of rows; concurrent requests share the one being made.
 * @param nowMs a monotonic clock
 */
export function cachedEach(make: MakeService, nowMs: () => number): MakeService {
  const made = new Map<number, { readonly text: Promise<string | undefined>; untilMs: number }>();
  return (index) => {
    const askedMs = nowMs();
    for (const [other, { untilMs }] of made) if (askedMs >= untilMs) made.delete(other);
    const known = made.get(index);
    if (known !== undefined) return known.text;
    const entry = { text: make(index), untilMs: Number.POSITIVE_INFINITY };
    made.set(index, entry);
    const done = (): void => {
      const endMs = nowMs();
      const costlyMs = Math.min(FRESH_MAX_MS, FRESH_TIMES * (endMs - askedMs));
      entry.untilMs = endMs + Math.max(FRESH_MS, costlyMs);
    };
    entry.text.then(done, done);
    return entry.text;
  };
}
