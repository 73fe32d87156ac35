/**
 * Worst-case numbers for quickselect with the median of the first, the middle and the last one as pivot: each pass
 * excludes only two of them.
 */

/** The numbers from 0 on, so many, each once. */
export function againstMedians(count: number): Float64Array {
  const chosen = new Float64Array(count).fill(Number.NaN);
  const places = Uint32Array.from(chosen, (_, place) => place);
  let next = 0;
  const numberAt = (at: number): number => chosen[places[at] ?? 0] ?? Number.NaN;
  const choose = (at: number): void => {
    if (!Number.isNaN(numberAt(at))) return;
    chosen[places[at] ?? 0] = next;
    next += 1;
  };
  // What it looks at first and in the middle are the two smallest there are, so the second of them is the median.
  for (let from = 0; from < count; from += 2) {
    const middle = (from + count - 1) >>> 1;
    choose(from);
    choose(middle);
    // It then has the smaller of them to the left, and the other one behind it.
    const [second = 0, half = 0] = [places[from + 1], places[middle]];
    places[from + 1] = half;
    places[middle] = second;
  }
  for (let at = 0; at < count; at += 1) choose(at);
  return chosen;
}
