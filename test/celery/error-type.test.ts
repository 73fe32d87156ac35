/** Which class an exception has, by the texts that Celery sends of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorType, failureOf } from '../../src/celery/error-type.ts';
import { BECAUSE, DURING, hostileErrors, traceback, WRAPPED } from './python-errors.ts';

const TIME_LIMIT = `Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/billiard/pool.py", line 683, in on_hard_timeout
    raise TimeLimitExceeded(job._timeout)
billiard.exceptions.TimeLimitExceeded: TimeLimitExceeded(1,)
`;
const MAYBE_ENCODING = `Error sending result: ''(1, <ExceptionInfo: ExceptionWithTraceback()>, None)''. Reason: ''PicklingError("Can't pickle")''.`;
const GROUP = `  + Exception Group Traceback (most recent call last):
  |   File "/srv/shop/tasks.py", line 51, in group
  |     def group(): raise ExceptionGroup('two things', [ValueError('a'), KeyError('b')])
  |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  | ExceptionGroup: two things (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | KeyError: 'b'
    +------------------------------------
`;
const RECURSION = `Traceback (most recent call last):
  File "/srv/shop/tasks.py", line 68, in f
    def f(): f()
             ^^^
  File "/srv/shop/tasks.py", line 68, in f
    def f(): f()
             ^^^
  [Previous line repeated 957 more times]
RecursionError: maximum recursion depth exceeded
`;
const SYNTAX = `Traceback (most recent call last):
  File "/srv/shop/tasks.py", line 65, in syntax
    compile('foo bar', '<string>', 'exec')
  File "<string>", line 1
    foo bar
        ^^^
SyntaxError: invalid syntax
`;
const SQL = `shop.db.IntegrityError: (UniqueViolation) duplicate key value violates unique constraint
DETAIL:  Key (id)=(1) already exists.

[SQL: INSERT INTO orders VALUES (1)]
(Background on this error at: https://example.test/gkpj)`;

type Case = readonly [what: string, exception: unknown, traceback: unknown, is: string];

const TABLE: readonly Case[] = [
  // What prefork sends: the repr of the exception.
  ['a builtin', "KeyError('k')", traceback("KeyError: 'k'"), 'KeyError'],
  ['one without arguments', 'SoftTimeLimitExceeded()', undefined, 'SoftTimeLimitExceeded'],
  ['one inside another', "EncodeError(TypeError('Object is not serializable'))", undefined, 'EncodeError'],
  ['a repr with lines', "ValueError('first\\nsecond: line')\nKeyError: 'x'", undefined, 'ValueError'],
  ['a termination', 'SystemExit(-241)', undefined, 'SystemExit'],
  ['a group', "ExceptionGroup('two things', [ValueError('a'), KeyError('b')])", GROUP, 'ExceptionGroup'],
  ['a letter outside ASCII', "Größe('zu groß')", undefined, 'Größe'],
  ['letters with combining marks', 'त्रुटि()', undefined, 'त्रुटि'],
  ['letters beyond 16 bits', '𝒳𝒴()', undefined, '𝒳𝒴'],
  ['underscores and digits', '_Error_404v2(1)', undefined, '_Error_404v2'],
  ['a dotted path', "shop.orders.PaymentDeclined('x')", undefined, 'PaymentDeclined'],
  ['a class in a function', "shop.pay.<locals>.Local('x')", undefined, 'Local'],
  [
    'what cannot be pickled, under its own name',
    "Local('here')",
    traceback("celery.utils.serialization.UnpickleableExceptionWrapper: Local('here')"),
    'Local',
  ],
  ['spaces around', "  KeyError('k')\n", undefined, 'KeyError'],
  // Reprs of classes' own.
  [
    'an angled repr',
    '<HttpError 404 when requesting http://api.test/x returned "Not Found">',
    traceback('googleapiclient.errors.HttpError: <HttpError 404 when …>'),
    'HttpError',
  ],
  [
    'an angled repr of a retry',
    '<HttpError 404 when requesting http://api.test/x>',
    traceback('celery.exceptions.Retry: Retry in 0s: <HttpError 404 when requesting http://api.test/x>'),
    'HttpError',
  ],
  [
    'an angled repr with a colon',
    `<MaybeEncodingError: ${MAYBE_ENCODING}>`,
    traceback(`billiard.pool.MaybeEncodingError: ${MAYBE_ENCODING}`),
    'MaybeEncodingError',
  ],
  ['the repr of any object', '<shop.orders.Declined object at 0x7f3a5c0d2e50>', undefined, 'Declined'],
  ['an angled class alone', '<Declined>', undefined, 'Declined'],
  ['a sentence', 'card declined by issuer', traceback('shop.Wordy'), 'Wordy'],
  ['a word', 'declined', traceback('shop.Declined: x'), 'Declined'],
  ['a label with a dash', 'order-17: declined', traceback('shop.Declined'), 'Declined'],
  [
    'a repr that fails',
    "<Unrepresentable <class 'shop.Bad'>: RuntimeError('x') '  File …'>",
    traceback('shop.Bad: <exception str() failed>'),
    'Bad',
  ],
  ['a class and message, and no traceback', 'shop.Declined: no', undefined, 'Declined'],
  ['a class alone, and no traceback', 'Declined', undefined, 'Declined'],
  // What the traceback alone tells.
  ['a hard time limit', WRAPPED, TIME_LIMIT, 'TimeLimitExceeded'],
  ['a builtin without', WRAPPED, traceback('AssertionError'), 'AssertionError'],
  ['a class in a function', WRAPPED, traceback('shop.local.<locals>.Local: here'), 'Local'],
  ['a class in a lambda', WRAPPED, traceback('shop.<lambda>.<locals>.Local'), 'Local'],
  ['a letter outside ASCII', WRAPPED, traceback('shop.Größe: zu groß'), 'Größe'],
  ['a message of lines', WRAPPED, traceback('ValueError: first line\nsecond: line\nlast\n'), 'ValueError'],
  [
    'a message that indents',
    WRAPPED,
    traceback('ValueError: first\n  KeyError: second\nOSError'),
    'ValueError',
  ],
  ['a message with details', WRAPPED, traceback(SQL), 'IntegrityError'],
  ['notes', WRAPPED, traceback('ValueError: with notes\nhint: look here\ndone'), 'ValueError'],
  [
    'a traceback in the message',
    WRAPPED,
    traceback(`RuntimeError: remote said:\n${traceback("KeyError: 'a'")}`),
    'RuntimeError',
  ],
  [
    'one raised while another was handled',
    WRAPPED,
    `${traceback("KeyError: 'a'")}${DURING}${traceback('RuntimeError: during')}`,
    'RuntimeError',
  ],
  [
    'a chain of three',
    WRAPPED,
    `${traceback('OSError')}${BECAUSE}${traceback('KeyError: 1')}${DURING}${traceback('TypeError: x')}`,
    'TypeError',
  ],
  ['endless recursion', WRAPPED, RECURSION, 'RecursionError'],
  ['a syntax error', WRAPPED, SYNTAX, 'SyntaxError'],
  ['a group', WRAPPED, GROUP, 'ExceptionGroup'],
  ['no frames', WRAPPED, 'ValueError: never raised\n', 'ValueError'],
  ['no line end', WRAPPED, 'Traceback (most recent call last):\nKeyError', 'KeyError'],
  ['frames and nothing more', WRAPPED, 'Traceback (most recent call last):\n  File "x"', 'unknown'],
  ['a header and nothing more', WRAPPED, 'Traceback (most recent call last):\n', 'unknown'],
  ['something else', WRAPPED, '17 things went wrong', 'unknown'],
  // Retries.
  ['a retry without an exception', 'None', traceback('celery.exceptions.Retry: Retry in 0s'), 'Retry'],
  ['the same in the other pools', 'Retry(Retry(...), None, 0)', undefined, 'Retry'],
  ['a retry for an exception', "Retry(Retry(...), KeyError('k'), None)", undefined, 'KeyError'],
  ['with a delay', "Retry(Retry(...), PaymentDeclined('x, y'), 0.2)", undefined, 'PaymentDeclined'],
  [
    'for an angled repr',
    'Retry(Retry(...), <HttpError 404 when requesting http://api.test/x>, 0)',
    undefined,
    'HttpError',
  ],
  [
    'for a class that begins like None',
    "Retry(Retry(...), NoneSuchError('x'), 0)",
    undefined,
    'NoneSuchError',
  ],
  ['for a text', "Retry(Retry(...), 'not yet', 180)", undefined, 'Retry'],
  ['for a message with lines', "Retry(Retry(...), ValueError('a\nb'), 180)", undefined, 'ValueError'],
  ['a retry of another form', "Retry('not yet')", undefined, 'Retry'],
  // Rejections.
  ['a rejection', 'reject requeue=False: no', traceback("celery.exceptions.Reject: ('no', False)"), 'Reject'],
  ['a rejection in the other pools', WRAPPED, traceback("celery.exceptions.Reject: ('no', False)"), 'Reject'],
  // Nothing to go by.
  ['an empty text', '', undefined, 'unknown'],
  ['spaces', ' \n ', undefined, 'unknown'],
  ['an empty text with a traceback', '', traceback("KeyError: 'k'"), 'KeyError'],
  ['wrapped, without a traceback', WRAPPED, undefined, 'unknown'],
  ['brackets', '()', undefined, 'unknown'],
  ['a number', '17', undefined, 'unknown'],
  ['control characters', '\u001b[31mKeyError\u0000', undefined, 'unknown'],
  ...[undefined, null, 17, true, [], {}, ["KeyError('k')"]].map(
    (value) => [`no text but ${JSON.stringify(value)}`, value, value, 'unknown'] as const,
  ),
];

for (const [what, exception, reported, is] of TABLE) {
  test(`${what} (${JSON.stringify(exception)?.slice(0, 40)}): ${is}`, () => {
    assert.equal(errorType(exception, reported), is);
  });
}

test('a failure with Celery’s own Reject exception is a rejection', () => {
  const reject = traceback("celery.exceptions.Reject: ('no', False)");
  assert.ok(failureOf('reject requeue=False: no', reject).rejection);
  assert.ok(failureOf('reject requeue=False: no', undefined).rejection);
  assert.ok(failureOf(WRAPPED, reject).rejection);
});

test('a similar exception is a failure', () => {
  assert.ok(!failureOf("KeyError('k')", traceback('celery.exceptions.Reject: no')).rejection);
  assert.ok(!failureOf("ValueError('reject requeue=False')", undefined).rejection);
  assert.ok(
    !failureOf("Reject('a class of the shop')", traceback('shop.Reject: a class of the shop')).rejection,
  );
  assert.ok(!failureOf(WRAPPED, traceback('shop.Reject: a class of the shop')).rejection);
  assert.ok(!failureOf(WRAPPED, traceback('ValueError: x\ncelery.exceptions.Reject: no')).rejection);
  for (const value of [undefined, null, 17, {}, []]) assert.ok(!failureOf(value, value).rejection);
});

test('a class name has at most 100 characters and is well-formed', () => {
  assert.equal(errorType(`${'E'.repeat(300)}('x')`, undefined), 'E'.repeat(100));
  assert.equal(errorType(WRAPPED, traceback(`shop.${'E'.repeat(300)}: x`)), 'E'.repeat(100));
  assert.ok(errorType(`E${'𝒳'.repeat(100)}()`, undefined).isWellFormed());
});

test('of any text the class is bounded', () => {
  const { exceptions, tracebacks } = hostileErrors(2000);
  for (const exception of [...exceptions, WRAPPED]) {
    for (const reported of tracebacks) {
      assert.ok(errorType(exception, reported).length <= 100);
      failureOf(exception, reported);
    }
  }
});

test('megabytes of frames are skipped up to the class at the end', () => {
  const frames = '  File "/srv/shop/tasks.py", line 1, in f\n    f()\n'.repeat(50_000);
  assert.equal(errorType(WRAPPED, `Traceback (most recent call last):\n${frames}OSError: deep\n`), 'OSError');
});
