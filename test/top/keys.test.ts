/** What keys do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Choice, firstChoice, pressed, type Target } from '../../src/top/keys.ts';

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
  assert.equal(choiceAfter('tab', 'tab', 'tab', 'tab', 'tab').table, 'Tasks');
  assert.equal(choiceAfter('S-tab').table, 'Services');
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

test('keys move the cursor, and everything else begins at the first row again', () => {
  assert.equal(choiceAfter('down', 'pagedown', 'up').selected, 10);
  assert.equal(choiceAfter('up').selected, 0);
  assert.equal(choiceAfter('down', 'home').selected, 0);
  assert.equal(choiceAfter('down', 'pagedown').offset, 10, 'the rows above go');
  for (const key of ['tab', 's', '/', 'n'])
    assert.equal(choiceAfter('down', key, ...(key === '/' ? ['a'] : [])).selected, 0, key);
});

const PAY = { table: 'Tasks', name: 'shop.pay', service: 0 } as const;
/** Keys, after the row under the cursor was drawn. */
function afterDrawing(target: Target, ...keys: readonly string[]): Choice {
  let choice: Choice = { ...firstChoice(false), table: target.table, selected: 3, offset: 2, target };
  for (const key of keys) {
    const next = pressed(choice, { key, text: '' }, ROOM);
    if (next !== 'end') choice = next;
  }
  return choice;
}

test('Enter opens the page of the row, which keys scroll, and Esc returns to the row', () => {
  const open = afterDrawing(PAY, 'return', 'down', 'down');
  assert.deepEqual([open.open, open.offset, open.selected], [PAY, 2, 3]);
  const closed = afterDrawing(PAY, 'return', 'down', 'escape');
  assert.deepEqual([closed.open, closed.selected, closed.target], [undefined, 3, PAY]);
  assert.equal(choiceAfter('return').open, undefined, 'there is no row');
  assert.equal(afterDrawing(PAY, '?', 'return').open, undefined, 'nor one in the help');
});

test('Enter opens the tables of a service, and Esc returns to all services, if there are several', () => {
  const opened = afterDrawing({ table: 'Services', name: 'mail', service: 2 }, 'return');
  assert.deepEqual([opened.service, opened.table, opened.open], [2, 'Tasks', undefined]);
  assert.equal(afterDrawing(PAY, 'escape').table, 'Services');
  const alone = pressed(firstChoice(false), { key: 'escape', text: '' }, { page: 10, services: 1 });
  assert.deepEqual(alone, firstChoice(false));
});

test('Esc goes back one step at a time', () => {
  const found = choiceAfter('/', 'a', 'return', '?');
  const steps = [found, ...[1, 2, 3].map((count) => choiceAfter('/', 'a', 'return', '?', ...esc(count)))];
  assert.deepEqual(
    steps.map(({ isHelp, filter, table }) => [isHelp, filter, table]),
    [
      [true, 'a', 'Tasks'],
      [false, 'a', 'Tasks'],
      [false, '', 'Tasks'],
      [false, '', 'Services'],
    ],
  );
});

const esc = (count: number): readonly string[] => Array.from({ length: count }, () => 'escape');

test('what shows another table, or finds rows, closes the page', () => {
  for (const key of ['2', 'tab', 'n', 's', '/'])
    assert.equal(afterDrawing(PAY, 'return', key).open, undefined);
});

test('services follow one another in a circle', () => {
  assert.equal(choiceAfter('n', 'n').service, 2);
  assert.equal(choiceAfter('n', 'n', 'n').service, 0);
  assert.equal(choiceAfter('p').service, 2);
});

test('other keys do nothing', () => {
  assert.deepEqual(choiceAfter('x', 'f5', 'C-x', ''), firstChoice(false));
});
