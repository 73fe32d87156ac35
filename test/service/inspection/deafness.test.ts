/** Which workers are called deaf, by rolls that are played: each is called once a second, and beats before each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deafness } from '../../../src/service/inspection/deafness.ts';

interface Called {
  readonly process?: object;
  /** It listens, and replies. */
  hears: boolean;
  isBusy?: boolean;
  /** It has received a task since the last roll. */
  receives?: boolean;
}

function playRolls(workers: Record<string, Called>) {
  const deafness = new Deafness();
  const processes = new Map(Object.keys(workers).map((nodename) => [nodename, {}]));
  const verdicts: string[] = [];
  let nowMs = 0;
  return {
    /** @returns what was said anew */
    roll(times: number): readonly string[] {
      for (let left = times; left > 0; left -= 1) {
        const askedMs = nowMs;
        nowMs += 1000;
        const all = Object.entries(workers);
        const up = all.map(([nodename, { receives }]) => ({
          ...{ nodename, process: processes.get(nodename) ?? {}, version: '5.5.3' },
          ...{ seenMs: nowMs, receivedMs: receives === true ? askedMs + 500 : -1 },
        }));
        const listening = all.filter(([, { hears }]) => hears).length;
        const audience = { listening, mailboxes: new Set(Object.keys(workers)) };
        const replied = all.filter(([, { hears, isBusy }]) => hears && isBusy !== true);
        const asked = deafness.isShort(up, audience)
          ? new Set(Object.keys(workers))
          : new Set([...deafness.suspects, ...deafness.watched]);
        const names = new Set(
          replied.map(([nodename]) => nodename).filter((nodename) => asked.has(nodename)),
        );
        const verdict = deafness.judge({ asked, replied: names, up, audience, askedMs, nowMs });
        verdicts.push(...verdict.deaf.map((nodename) => `${nodename} is deaf`));
        verdicts.push(...verdict.recovered.map((nodename) => `${nodename} is not`));
      }
      return verdicts.splice(0);
    },
  };
}

test('one without remote control whose mailbox was left is not deaf if it receives a task, and hides no other', () => {
  const off: Called = { hears: false, receives: true };
  const other: Called = { hears: true };
  const rolls = playRolls({ 'off@a': off, 'w1@a': other, 'w2@a': { hears: true } });
  assert.deepEqual(rolls.roll(20), []);
  off.receives = false;
  assert.deepEqual(rolls.roll(20), [], 'it is known by now');
  other.hears = false;
  assert.deepEqual(rolls.roll(6), ['w1@a is deaf']);
  other.hears = true;
  assert.deepEqual(rolls.roll(6), ['w1@a is not']);
});

test('one that was idle is called deaf until it receives a task, and not again', () => {
  const off: Called = { hears: false };
  const rolls = playRolls({ 'off@a': off, 'w1@a': { hears: true } });
  assert.deepEqual(rolls.roll(6), ['off@a is deaf']);
  off.receives = true;
  assert.deepEqual(rolls.roll(1), ['off@a is not']);
  off.receives = false;
  assert.deepEqual(rolls.roll(20), []);
});

test('busy workers that receive tasks are never called deaf, whoever is busy next', () => {
  const one: Called = { hears: true, isBusy: true, receives: true };
  const two: Called = { hears: true };
  const deaf: Called = { hears: true };
  const rolls = playRolls({ 'solo1@a': one, 'solo2@a': two, 'w1@a': deaf });
  deaf.hears = false;
  assert.deepEqual(rolls.roll(8), [], 'one of them may have no remote control');
  Object.assign(one, { isBusy: false, receives: false });
  two.isBusy = true;
  assert.deepEqual(rolls.roll(20), ['w1@a is deaf']);
});
