/** Finds the word that was probably meant by a misspelt one. */

/** ` (did you mean X?)`, or '' if no candidate is near. */
export function hint(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates);
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}

/** The candidate with the smallest edit distance, if that is small enough for its length. */
export function nearest<T extends string>(word: string, candidates: readonly T[]): T | undefined {
  let best: T | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const count = editDistance(word, candidate);
    if (count < fewest && count <= Math.max(1, Math.floor(candidate.length / 3))) {
      best = candidate;
      fewest = count;
    }
  }
  return best;
}

/** The edit distance: letters to add, drop, replace, or swap with their neighbour. */
export function editDistance(from: string, to: string): number {
  // A swap needs the last three rows of the distance table.
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1];
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row.push(
        Math.min(
          at(last, j) + 1,
          at(row, j - 1) + 1,
          at(last, j - 1) + (same ? 0 : 1),
          swapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = row;
  }
  return at(last, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
