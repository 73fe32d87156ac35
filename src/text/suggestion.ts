/** Finds the word that a misspelt word probably stands for. */

/** ` (did you mean X?)`, or '' if no candidate is similar. */
export function hint(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates);
  return near === undefined ? '' : ` (did you mean ${near}?)`;
}

/** The candidate with the smallest edit distance, if that is small enough for its length. */
export function nearest<T extends string>(word: string, candidates: readonly T[]): T | undefined {
  const near = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ candidate, distance }) => distance <= Math.max(1, Math.floor(candidate.length / 3)));
  return near.sort((a, b) => a.distance - b.distance)[0]?.candidate;
}

/** The edit distance: how many letters to add, drop, replace, or swap with their neighbour. */
export function editDistance(from: string, to: string): number {
  const rows: number[][] = [];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i <= from.length; i += 1) {
    const row: number[] = [];
    rows.push(row);
    for (let j = 0; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const replaced = at(i - 1, j - 1) + (isSame ? 0 : 1);
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(i + j === 0 ? 0 : Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped));
    }
  }
  return at(from.length, to.length);
}
