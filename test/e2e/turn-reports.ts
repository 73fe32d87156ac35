/** Parses the reports that `report-turns.ts` writes to a bridge’s log. */
import assert from 'node:assert/strict';
import type { TurnReport } from './report-turns.ts';

/** All reports so far, in order. */
export function turnReports(log: string): readonly TurnReport[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{"longestMs"'))
    .map((line) => JSON.parse(line));
}

/** How long the bridge had run, in ms of a normal machine, or been idle at a given time; interpolated between samples. */
export function ownTime(samples: TurnReport['own']): (atMs: number) => number {
  return (atMs) => {
    const sampled = samples.findIndex(([sampledMs], index) => index > 0 && sampledMs >= atMs);
    const [from, to] = samples.slice(sampled < 0 ? -2 : sampled - 1).slice(0, 2);
    assert.ok(from !== undefined && to !== undefined);
    return from[1] + ((to[1] - from[1]) * (atMs - from[0])) / (to[0] - from[0]);
  };
}
