/** Work that anybody may request: one piece at a time, with pauses, and never too many. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTurns } from '../../src/timing/in-turns.ts';

test('pieces of work take turns in order, each after a pause; one that fails holds nobody up', async () => {
  const log: string[] = [];
  const inTurn = createTurns(async (ms) => {
    assert.ok(ms >= 0);
    log.push('pause');
  });
  const piece = (name: string) => async () => {
    log.push(`begin ${name}`);
    await new Promise(setImmediate);
    log.push(`end ${name}`);
    if (name === 'b') throw new Error('b');
    return name;
  };
  const [a, b, c] = await Promise.allSettled(['a', 'b', 'c'].map((name) => inTurn(piece(name))));
  assert.deepEqual([a?.status, b?.status, c?.status], ['fulfilled', 'rejected', 'fulfilled']);
  const turns = ['a', 'b', 'c'].flatMap((name) => [`begin ${name}`, `end ${name}`, 'pause']);
  assert.deepEqual(log, turns);
});

test('beyond a bound of waiting requests others are refused, and later ones are not', async () => {
  const gate = Promise.withResolvers<void>();
  const inTurn = createTurns(async () => {});
  const all = Array.from({ length: 100 }, () => inTurn(() => gate.promise));
  const settled = Promise.allSettled(all);
  await assert.rejects(
    inTurn(async () => 1),
    /too many requests/u,
  );
  gate.resolve();
  const refused = (await settled).filter(({ status }) => status === 'rejected').length;
  assert.ok(refused >= 30 && refused < 40, String(refused));
  assert.equal(await inTurn(async () => 2), 2);
});
