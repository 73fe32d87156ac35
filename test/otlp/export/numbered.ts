/** Items of no signal, each known by its number, that remember which of them have been exported. */
import type { Collected, Piece } from '../../../src/otlp/export/export-request.ts';

export interface Numbered extends Collected {
  readonly settled: readonly number[];
}

export function numbered(items: number, bytesOf: (item: number) => number = () => 1): Numbered {
  const settled: number[] = [];
  return {
    items,
    bytesOf,
    settled,
    acknowledge(from, to) {
      for (let item = from; item < to; item += 1) settled.push(item);
    },
  };
}

export function numbersIn(pieces: readonly Piece<Numbered>[]): readonly number[] {
  return pieces.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
}
