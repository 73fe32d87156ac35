/**
 * Documents that are made again only when they are old, however often and by however many they are asked for. Pure: the clock is an
 * argument. What nobody asks for is dropped.
 */

const FRESH_MS = 1000;
/** One that takes long to make is fresh for so many times as long: making it takes a twentieth of the time at most. */
const FRESH_TIMES = 20;
/** Nor does a pause of the whole machine make it fresh for hours. */
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
 * Of each service one, which may have thousands of rows; one that is being made serves all who ask meanwhile.
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
