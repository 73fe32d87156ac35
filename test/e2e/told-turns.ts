/** Reads what a bridge has told of its event loop, as `tell-longest-turn.ts` makes it. */
import assert from 'node:assert/strict';
import type { ToldTurns } from './tell-longest-turn.ts';

/** All that was told so far, in its order. */
export function toldTurns(log: string): readonly ToldTurns[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{"longestMs"'))
    .map((line) => JSON.parse(line));
}

/** For how long the bridge had run or had had nothing to do at a time, in between the samples too. */
export function ownTime(samples: ToldTurns['own']): (atMs: number) => number {
  return (atMs) => {
    const sampled = samples.findIndex(([sampledMs], index) => index > 0 && sampledMs >= atMs);
    const [from, to] = samples.slice(sampled < 0 ? -2 : sampled - 1).slice(0, 2);
    assert.ok(from !== undefined && to !== undefined);
    return from[1] + ((to[1] - from[1]) * (atMs - from[0])) / (to[0] - from[0]);
  };
}
