import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldWord } from '../../src/cluster/held-words.ts';
import { StrayWords } from '../../src/cluster/stray-words.ts';
import { heartbeat } from './stories.ts';

function wordAt(arrivedAtMs: number): HeldWord {
  const event = heartbeat(0);
  return new HeldWord(event, event, { arrivedAtMs, spokeMs: arrivedAtMs, session: 0 });
}

test('one word proves nothing; a second one does, though the process has said something meanwhile', () => {
  const strays = new StrayWords();
  const [first, second] = [wordAt(0), wordAt(1)];
  assert.equal(strays.add(first, false), undefined);
  strays.goesOn(1);
  assert.deepEqual(strays.add(second, false), { first, words: [first, second] });
});

test('a process that goes on for ten seconds has not been replaced', () => {
  const strays = new StrayWords();
  strays.add(wordAt(0), false);
  strays.goesOn(10_000);
  assert.equal(strays.add(wordAt(10_001), false), undefined);
});

test('words from before prove something once they have gone on for ten seconds, and the process has not', () => {
  const strays = new StrayWords();
  strays.add(wordAt(0), true);
  strays.goesOn(1);
  const [first, last] = [wordAt(5_000), wordAt(15_000)];
  assert.equal(strays.add(first, true), undefined);
  assert.equal(strays.add(wordAt(14_999), true), undefined);
  assert.deepEqual(strays.add(last, true), { first, words: [first, last] });
});

test('where the clock has caught up meanwhile, the words from before were the first ones', () => {
  const strays = new StrayWords();
  const [early, first, second] = [wordAt(0), wordAt(1), wordAt(2)];
  strays.add(early, true);
  strays.add(first, false);
  assert.deepEqual(strays.add(second, false), { first: early, words: [first, second] });
});
