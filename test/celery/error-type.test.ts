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
/** What newer Celery sends with the second of the two failures that it tells of one hard time limit. */
const TIME_LIMIT_AGAIN = `Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/celery/worker/request.py", line 563, in on_timeout
    raise exc
billiard.exceptions.TimeLimitExceeded: TimeLimitExceeded(1,)
`;
const WORKER_LOST = `Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/billiard/pool.py", line 1264, in mark_as_worker_lost
    raise WorkerLostError(
billiard.exceptions.WorkerLostError: Worker exited prematurely: exitcode 1 Job: 11.
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

interface Case {
  readonly what: string;
  readonly exception: unknown;
  readonly traceback?: unknown;
  readonly is: string;
}

const TABLE: readonly Case[] = [
  // What prefork sends: the repr of the exception.
  { what: 'a builtin', exception: "KeyError('k')", traceback: traceback("KeyError: 'k'"), is: 'KeyError' },
  { what: 'one without arguments', exception: 'SoftTimeLimitExceeded()', is: 'SoftTimeLimitExceeded' },
  { what: 'two arguments', exception: "PaymentDeclined('x, y', 17)", is: 'PaymentDeclined' },
  {
    what: 'one inside another',
    exception: "EncodeError(TypeError('Object is not serializable'))",
    is: 'EncodeError',
  },
  {
    what: 'one raised from another',
    exception: "PaymentDeclined('caused')",
    traceback: `${traceback("KeyError: 'a'")}${BECAUSE}${traceback('shop.PaymentDeclined: caused')}`,
    is: 'PaymentDeclined',
  },
  {
    what: 'a repr with lines',
    exception: "ValueError('first\\nsecond: line')\nKeyError: 'x'",
    is: 'ValueError',
  },
  {
    what: 'exhausted retries',
    exception: 'MaxRetriesExceededError("Can\'t retry shop.pay[d526] args:() kwargs:{}")',
    is: 'MaxRetriesExceededError',
  },
  { what: 'a termination', exception: 'SystemExit(-241)', is: 'SystemExit' },
  {
    what: 'a group',
    exception: "ExceptionGroup('two things', [ValueError('a'), KeyError('b')])",
    traceback: GROUP,
    is: 'ExceptionGroup',
  },
  { what: 'a letter outside ASCII', exception: "Größe('zu groß')", is: 'Größe' },
  { what: 'letters with combining marks', exception: 'त्रुटि()', is: 'त्रुटि' },
  { what: 'letters beyond 16 bits', exception: '𝒳𝒴()', is: '𝒳𝒴' },
  { what: 'underscores and digits', exception: '_Error_404v2(1)', is: '_Error_404v2' },
  { what: 'a dotted path', exception: "shop.orders.PaymentDeclined('x')", is: 'PaymentDeclined' },
  { what: 'a class in a function', exception: "shop.pay.<locals>.Local('x')", is: 'Local' },
  {
    what: 'what cannot be pickled, under its own name',
    exception: "Local('here')",
    traceback: traceback("celery.utils.serialization.UnpickleableExceptionWrapper: Local('here')"),
    is: 'Local',
  },
  { what: 'spaces around', exception: "  KeyError('k')\n", is: 'KeyError' },
  // Reprs of classes' own.
  {
    what: 'an angled repr',
    exception: '<HttpError 404 when requesting http://api.test/x returned "Not Found">',
    traceback: traceback('googleapiclient.errors.HttpError: <HttpError 404 when …>'),
    is: 'HttpError',
  },
  {
    what: 'an angled repr of a retry',
    exception: '<HttpError 404 when requesting http://api.test/x>',
    traceback: traceback(
      'celery.exceptions.Retry: Retry in 0s: <HttpError 404 when requesting http://api.test/x>',
    ),
    is: 'HttpError',
  },
  {
    what: 'an angled repr with a colon',
    exception: `<MaybeEncodingError: ${MAYBE_ENCODING}>`,
    traceback: traceback(`billiard.pool.MaybeEncodingError: ${MAYBE_ENCODING}`),
    is: 'MaybeEncodingError',
  },
  {
    what: 'the repr of any object',
    exception: '<shop.orders.Declined object at 0x7f3a5c0d2e50>',
    is: 'Declined',
  },
  { what: 'an angled class alone', exception: '<Declined>', is: 'Declined' },
  {
    what: 'a sentence',
    exception: 'card declined by issuer',
    traceback: traceback('shop.Wordy'),
    is: 'Wordy',
  },
  {
    what: 'a sentence that begins like a class',
    exception: 'order17: declined',
    traceback: traceback('shop.Declined: order17'),
    is: 'Declined',
  },
  { what: 'a word', exception: 'declined', traceback: traceback('shop.Declined: x'), is: 'Declined' },
  {
    what: 'a label with a dash',
    exception: 'order-17: declined',
    traceback: traceback('shop.Declined'),
    is: 'Declined',
  },
  {
    what: 'a repr that fails',
    exception: "<Unrepresentable <class 'shop.Bad'>: RuntimeError('x') '  File …'>",
    traceback: traceback('shop.Bad: <exception str() failed>'),
    is: 'Bad',
  },
  { what: 'a class and message, and no traceback', exception: 'shop.Declined: no', is: 'Declined' },
  { what: 'a class alone, and no traceback', exception: 'Declined', is: 'Declined' },
  // What the traceback alone tells.
  { what: 'a hard time limit', exception: WRAPPED, traceback: TIME_LIMIT, is: 'TimeLimitExceeded' },
  { what: 'the same repeated', exception: WRAPPED, traceback: TIME_LIMIT_AGAIN, is: 'TimeLimitExceeded' },
  { what: 'a lost child', exception: WRAPPED, traceback: WORKER_LOST, is: 'WorkerLostError' },
  {
    what: 'a builtin with a message',
    exception: WRAPPED,
    traceback: traceback("KeyError: 'k'"),
    is: 'KeyError',
  },
  {
    what: 'a builtin without',
    exception: WRAPPED,
    traceback: traceback('AssertionError'),
    is: 'AssertionError',
  },
  {
    what: 'a path',
    exception: WRAPPED,
    traceback: traceback(
      "celery.exceptions.MaxRetriesExceededError: Can't retry shop.pay[e7c5] args:() kwargs:{}",
    ),
    is: 'MaxRetriesExceededError',
  },
  {
    what: 'a class in a function',
    exception: WRAPPED,
    traceback: traceback('shop.local.<locals>.Local: here'),
    is: 'Local',
  },
  {
    what: 'a class in a lambda',
    exception: WRAPPED,
    traceback: traceback('shop.<lambda>.<locals>.Local'),
    is: 'Local',
  },
  {
    what: 'a letter outside ASCII',
    exception: WRAPPED,
    traceback: traceback('shop.Größe: zu groß'),
    is: 'Größe',
  },
  {
    what: 'a message of lines',
    exception: WRAPPED,
    traceback: traceback('ValueError: first line\nsecond: line\nlast\n'),
    is: 'ValueError',
  },
  {
    what: 'a message that indents',
    exception: WRAPPED,
    traceback: traceback('ValueError: first\n  KeyError: second\nOSError'),
    is: 'ValueError',
  },
  { what: 'a message with details', exception: WRAPPED, traceback: traceback(SQL), is: 'IntegrityError' },
  {
    what: 'notes',
    exception: WRAPPED,
    traceback: traceback('ValueError: with notes\nhint: look here\ndone'),
    is: 'ValueError',
  },
  {
    what: 'a traceback in the message',
    exception: WRAPPED,
    traceback: traceback(`RuntimeError: remote said:\n${traceback("KeyError: 'a'")}`),
    is: 'RuntimeError',
  },
  {
    what: 'one raised while another was handled',
    exception: WRAPPED,
    traceback: `${traceback("KeyError: 'a'")}${DURING}${traceback('RuntimeError: during')}`,
    is: 'RuntimeError',
  },
  {
    what: 'one raised from another',
    exception: WRAPPED,
    traceback: `${traceback("KeyError: 'a'")}${BECAUSE}${traceback('shop.PaymentDeclined: caused')}`,
    is: 'PaymentDeclined',
  },
  {
    what: 'a chain of three',
    exception: WRAPPED,
    traceback: `${traceback('OSError')}${BECAUSE}${traceback('KeyError: 1')}${DURING}${traceback('TypeError: x')}`,
    is: 'TypeError',
  },
  { what: 'endless recursion', exception: WRAPPED, traceback: RECURSION, is: 'RecursionError' },
  { what: 'a syntax error', exception: WRAPPED, traceback: SYNTAX, is: 'SyntaxError' },
  { what: 'a group', exception: WRAPPED, traceback: GROUP, is: 'ExceptionGroup' },
  { what: 'no frames', exception: WRAPPED, traceback: 'ValueError: never raised\n', is: 'ValueError' },
  {
    what: 'no line end',
    exception: WRAPPED,
    traceback: 'Traceback (most recent call last):\nKeyError',
    is: 'KeyError',
  },
  {
    what: 'frames and nothing more',
    exception: WRAPPED,
    traceback: 'Traceback (most recent call last):\n  File "x"',
    is: 'unknown',
  },
  {
    what: 'a header and nothing more',
    exception: WRAPPED,
    traceback: 'Traceback (most recent call last):\n',
    is: 'unknown',
  },
  { what: 'something else', exception: WRAPPED, traceback: '17 things went wrong', is: 'unknown' },
  // Retries.
  {
    what: 'a retry without an exception',
    exception: 'None',
    traceback: traceback('celery.exceptions.Retry: Retry in 0s'),
    is: 'Retry',
  },
  { what: 'the same in the other pools', exception: 'Retry(Retry(...), None, 0)', is: 'Retry' },
  { what: 'the same without a delay', exception: 'Retry(Retry(...), None, None)', is: 'Retry' },
  { what: 'a retry for an exception', exception: "Retry(Retry(...), KeyError('k'), None)", is: 'KeyError' },
  {
    what: 'with a delay',
    exception: "Retry(Retry(...), PaymentDeclined('x, y'), 0.2)",
    is: 'PaymentDeclined',
  },
  {
    what: 'for an angled repr',
    exception: 'Retry(Retry(...), <HttpError 404 when requesting http://api.test/x>, 0)',
    is: 'HttpError',
  },
  {
    what: 'for a class that begins like None',
    exception: "Retry(Retry(...), NoneSuchError('x'), 0)",
    is: 'NoneSuchError',
  },
  { what: 'for a text', exception: "Retry(Retry(...), 'not yet', 180)", is: 'Retry' },
  {
    what: 'for a message with lines',
    exception: "Retry(Retry(...), ValueError('a\nb'), 180)",
    is: 'ValueError',
  },
  { what: 'a retry of another form', exception: "Retry('not yet')", is: 'Retry' },
  // Rejections.
  {
    what: 'a rejection',
    exception: 'reject requeue=False: no',
    traceback: traceback("celery.exceptions.Reject: ('no', False)"),
    is: 'Reject',
  },
  {
    what: 'a rejection in the other pools',
    exception: WRAPPED,
    traceback: traceback("celery.exceptions.Reject: ('no', False)"),
    is: 'Reject',
  },
  // Nothing to go by.
  { what: 'an empty text', exception: '', is: 'unknown' },
  { what: 'spaces', exception: ' \n ', is: 'unknown' },
  {
    what: 'an empty text with a traceback',
    exception: '',
    traceback: traceback("KeyError: 'k'"),
    is: 'KeyError',
  },
  { what: 'wrapped, without a traceback', exception: WRAPPED, is: 'unknown' },
  { what: 'brackets', exception: '()', is: 'unknown' },
  { what: 'a number', exception: '17', is: 'unknown' },
  { what: 'control characters', exception: '\u001b[31mKeyError\u0000', is: 'unknown' },
  ...[undefined, null, 17, true, [], {}, ["KeyError('k')"]].map((value) => ({
    what: `no text but ${JSON.stringify(value)}`,
    exception: value,
    traceback: value,
    is: 'unknown',
  })),
];

for (const { what, exception, traceback: reported, is } of TABLE) {
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
