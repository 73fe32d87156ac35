/** What bombs cost, one by one and together. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../src/celery/decode.ts';
import { ExpansionReserve } from '../../src/celery/expansion.ts';
import { bound } from '../bound.ts';
import { leastMs, normalMs } from '../processor-time.ts';
import { COMPRESSIONS, listBomb, smallBomb } from './compressions.ts';

const BOMBS = 20;
const TOGETHER_MS_MAX = 50;
const EACH_MS_MAX = 10;

for (const [compression, compress] of COMPRESSIONS) {
  const refuse = (bomb: Parameters<typeof decode>[0], expansions?: ExpansionReserve) => {
    for (let index = 0; index < BOMBS; index += 1) {
      assert.equal(decode(bomb, 0, expansions).rejections[0]?.reason, 'expands-too-far');
    }
  };

  test(`${compression} bombs are bounded together`, async (t) => {
    const bomb = listBomb(compression, compress);
    const costMs = await leastMs(TOGETHER_MS_MAX, () => {
      const expansions = new ExpansionReserve(0);
      return normalMs(() => refuse(bomb, expansions));
    });
    bound(t, `${BOMBS} bombs of ${compression} together`, costMs, TOGETHER_MS_MAX, 'ms');
  });

  test(`a small ${compression} bomb costs little`, async (t) => {
    const bomb = smallBomb(compression, compress);
    const costMs = await leastMs(BOMBS * EACH_MS_MAX, () => normalMs(() => refuse(bomb)));
    bound(t, `a small bomb of ${compression}`, costMs / BOMBS, EACH_MS_MAX, 'ms');
  });
}
