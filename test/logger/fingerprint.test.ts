/** Which exceptions are the same problem, in tracebacks of real clusters and in those of other versions of Python. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fingerprintOf } from '../../src/logger/fingerprint.ts';
import { recordedErrors } from './recorded-errors.ts';

const HEADER = 'Traceback (most recent call last):\n';
const frame = (file: string, line: number, name: string, source = 'x = f(a)\n    ~~^^^') =>
  `  File "${file}", line ${line}, in ${name}\n    ${source}\n`;
const SITE = '/srv/venv/lib/python3.11/site-packages';
const CELERY = frame(`${SITE}/celery/app/trace.py`, 451, 'trace_task', 'R = fun(*args)\n        ^^^^^^^^^^');
const PAY =
  HEADER + CELERY + frame('/srv/shop/tasks.py', 17, 'pay') + frame('/srv/shop/card.py', 4, 'charge');
const DECLINED = `${PAY}shop.Declined: card 17\n`;
const BASE = fingerprintOf('shop.pay', 'Declined', DECLINED);
const DURING = '\nDuring handling of the above exception, another exception occurred:\n\n';
const BECAUSE = '\nThe above exception was the direct cause of the following exception:\n\n';
const CAUSE = `${HEADER}${frame('/srv/shop/bank.py', 9, 'ask')}KeyError: 'iban'\n`;
const GROUP = (member: string) =>
  `  + Exception Group ${HEADER}  |   File "/srv/shop/tasks.py", line 17, in pay\n  |     x = f(a)\n  | ExceptionGroup: two (1 sub-exception)\n` +
  `  +-+---------------- 1 ----------------\n    | ${HEADER}    |   File "/srv/shop/${member}.py", line 1, in f\n    | ValueError: ${member}\n    +------------------------------------\n`;
const GROUPED = fingerprintOf('shop.pay', 'ExceptionGroup', GROUP('a'));
const deep = (frames: number) => frame('/srv/shop/deep.py', 3, 'descend').repeat(frames);

for (const [what, traceback] of [
  ['with other line numbers', DECLINED.replaceAll(/line \d+/g, 'line 99')],
  ['with another message', DECLINED.replace('card 17', 'card 18:\n  not enough')],
  ['without marks below the source, as before Python 3.11', DECLINED.replaceAll(/^ +[~^]+\n/gm, '')],
  ['without source', DECLINED.replaceAll(/^ {4}.*\n/gm, '')],
  ['of another installation', DECLINED.replaceAll(SITE, '/usr/lib/python3/dist-packages')],
  ['on Windows', DECLINED.replaceAll(`${SITE}/celery/app`, 'C:\\app\\Lib\\site-packages\\celery\\app')],
  [
    'with lines that are repeated',
    DECLINED.replace('shop.Decl', '  [Previous line repeated 3 more times]\nshop.Decl'),
  ],
  ['after another exception', CAUSE + DURING + DECLINED],
  ['with a cause', CAUSE + BECAUSE + DECLINED],
  ['with a message that quotes a traceback', DECLINED + CAUSE],
  [
    'with a long message, cut in the middle',
    `${DECLINED}\n${'x'.repeat(9000)}\n[... 77 bytes left out ...]\nxx\n  y`,
  ],
  [
    'whose cause was cut in the middle',
    `${CAUSE}[... 77 bytes left out ...]\nask\n${DECLINED.replace(HEADER, '')}`,
  ],
] as const) {
  test(`An exception has the same fingerprint ${what}`, () => {
    assert.equal(fingerprintOf('shop.pay', 'Declined', traceback), BASE);
  });
}

for (const [what, fingerprint] of [
  ['in another task', fingerprintOf('shop.refund', 'Declined', DECLINED)],
  ['of another class', fingerprintOf('shop.pay', 'Refused', DECLINED)],
  [
    'raised by another function',
    fingerprintOf('shop.pay', 'Declined', DECLINED.replace('in charge', 'in check')),
  ],
  ['raised in another file', fingerprintOf('shop.pay', 'Declined', DECLINED.replace('card.py', 'bank.py'))],
  ['raised before another one', fingerprintOf('shop.pay', 'Declined', DECLINED + DURING + CAUSE)],
  ['without a traceback', fingerprintOf('shop.pay', 'Declined', '')],
] as const) {
  test(`An exception has another fingerprint ${what}`, () => {
    assert.notEqual(fingerprint, BASE);
  });
}

test('Only the innermost five frames count', () => {
  const raised = (outer: string, frames: number) =>
    fingerprintOf('t', 'E', `${HEADER}${frame(outer, 1, 'f')}${deep(frames)}E: x\n`);
  assert.equal(raised('a.py', 5), raised('b.py', 5));
  assert.notEqual(raised('a.py', 4), raised('b.py', 4));
  // Cut in the middle where it was decoded.
  assert.equal(
    fingerprintOf('t', 'E', `${HEADER}${deep(9)}[... 9 bytes left out ...]\n    x\n${deep(5)}E: x\n`),
    raised('a.py', 5),
  );
});

test('A group has the fingerprint of where it was raised, whatever its members are', () => {
  assert.equal(fingerprintOf('shop.pay', 'ExceptionGroup', GROUP('b')), GROUPED);
  assert.equal(fingerprintOf('shop.pay', 'ExceptionGroup', CAUSE + DURING + GROUP('a')), GROUPED);
  assert.notEqual(
    fingerprintOf('shop.pay', 'ExceptionGroup', GROUP('a').replace('in pay', 'in refund')),
    GROUPED,
  );
});

/** Raised by Celery itself, at another place in the newer version or in another pool. */
const MOVED = new Set(['leave', 'exceed_hard_limit']);

test('Celery 5.2 and 5.7 make the same fingerprints, in every pool', () => {
  const prints = new Map<string, Set<string>>();
  const versions = new Map<string, Set<string>>();
  for (const { task, type, errorType, traceback, celery } of recordedErrors()) {
    const key = [task, type, errorType].join(' ');
    prints.set(key, (prints.get(key) ?? new Set()).add(fingerprintOf(task, errorType, traceback)));
    versions.set(key, (versions.get(key) ?? new Set()).add(celery));
  }
  const stable = [...prints].filter(([key]) => !MOVED.has(key.replace(/^scenarios\.(\w+) .*$/, '$1')));
  assert.deepEqual(
    stable.filter(([, found]) => found.size !== 1),
    [],
  );
  assert.equal(stable.filter(([key]) => versions.get(key)?.size === 2).length, 11);
  // All of them are different problems.
  assert.equal(new Set([...prints.values()].flatMap((found) => [...found])).size, prints.size + 2);
});
