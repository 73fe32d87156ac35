/** What keys do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Choice, firstChoice, pressed } from '../../src/top/keys.ts';

const ROOM = { page: 10, services: 3 };

function after(...keys: readonly string[]): Choice | 'end' {
  let choice: Choice | 'end' = firstChoice(false);
  for (const key of keys) {
    const text = Array.from(key).length === 1 ? key : '';
    if (choice !== 'end') choice = pressed(choice, { key, text }, ROOM);
  }
  return choice;
}

function choiceAfter(...keys: readonly string[]): Choice {
  const choice = after(...keys);
  assert.ok(choice !== 'end');
  return choice;
}

test('q and Ctrl-C end it, while a filter is written only Ctrl-C', () => {
  for (const keys of [['q'], ['C-c'], ['/', 'C-c'], ['?', 'q']]) assert.equal(after(...keys), 'end');
  assert.equal(choiceAfter('/', 'q').filter, 'q');
});

test('Tab goes round the tables, and numbers choose one', () => {
  assert.equal(choiceAfter('tab').table, 'Workers');
  assert.equal(choiceAfter('tab', 'tab', 'tab', 'tab').table, 'Tasks');
  assert.equal(choiceAfter('S-tab').table, 'Exports');
  assert.equal(choiceAfter('3').table, 'Queues');
});

test('each table keeps the column that it is sorted by', () => {
  const choice = choiceAfter('right', 'S-s', '2', 's', '1');
  assert.deepEqual(choice.orders.Tasks, { column: 2, isDescending: false });
  assert.deepEqual(choice.orders.Workers, { column: 1, isDescending: false });
  assert.deepEqual(choiceAfter('left').orders.Tasks, { column: 0, isDescending: false });
  assert.equal(choiceAfter('left', 'left').orders.Tasks.isDescending, true);
});

test('a filter is written, corrected, kept and cleared', () => {
  assert.deepEqual([choiceAfter('/', 'a', '日', 'backspace', 'b').filter, 'ab'], ['ab', 'ab']);
  assert.deepEqual(choiceAfter('/', 'a', 'return').isWriting, false);
  assert.equal(choiceAfter('/', 'a', 'return').filter, 'a');
  assert.equal(choiceAfter('/', 'a', 'return', 'escape').filter, '');
  assert.equal(choiceAfter('/', 'a', 'escape').isWriting, false);
  assert.equal(choiceAfter('/', '\u001b', '\u009b', 'up').filter, '');
});

test('rows are scrolled, and everything else begins at the first row again', () => {
  assert.equal(choiceAfter('down', 'pagedown', 'up').offset, 10);
  assert.equal(choiceAfter('up').offset, 0);
  for (const key of ['tab', 's', '/', 'n', '?'])
    assert.equal(choiceAfter('down', key, ...(key === '/' ? ['a'] : [])).offset, 0, key);
});

test('services follow one another in a circle', () => {
  assert.equal(choiceAfter('n', 'n').service, 2);
  assert.equal(choiceAfter('n', 'n', 'n').service, 0);
  assert.equal(choiceAfter('p').service, 2);
});

test('other keys do nothing', () => {
  assert.deepEqual(choiceAfter('x', 'f5', 'C-x', ''), firstChoice(false));
});
