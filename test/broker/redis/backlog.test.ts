/** When messages are dropped because the server keeps too many for us. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backlog } from '../../../src/broker/redis/backlog.ts';

const MIB = 1024 * 1024;

/** Reads so much between a question and its answer. */
function exchange(backlog: Backlog, bytes: number): void {
  backlog.noteQuestion();
  backlog.noteRead(bytes);
  backlog.noteAnswer();
}

test('any amount may be read as long as the answers come soon', () => {
  const backlog = new Backlog();
  for (let round = 0; round < 100; round += 1) {
    exchange(backlog, 2 * MIB);
    backlog.noteRead(100 * MIB);
    assert.equal(backlog.isShedding, false);
  }
});

test('messages are dropped once 8 MiB have arrived before the answer, and not only when it comes', () => {
  const backlog = new Backlog();
  backlog.noteQuestion();
  backlog.noteRead(8 * MIB - 1);
  assert.equal(backlog.isShedding, false);
  backlog.noteRead(1);
  assert.equal(backlog.isShedding, true);
});

test('they are dropped until an answer comes within 1 MiB', () => {
  const backlog = new Backlog();
  exchange(backlog, 20 * MIB);
  assert.equal(backlog.isShedding, true);
  exchange(backlog, MIB);
  assert.equal(backlog.isShedding, true);
  exchange(backlog, MIB - 1);
  assert.equal(backlog.isShedding, false);
});

test('a second question before the answer does not shorten the wait for it', () => {
  const backlog = new Backlog();
  backlog.noteQuestion();
  backlog.noteRead(5 * MIB);
  backlog.noteQuestion();
  backlog.noteRead(5 * MIB);
  assert.equal(backlog.isShedding, true);
});
