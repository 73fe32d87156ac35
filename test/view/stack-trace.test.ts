/** Stack traces: the frame that raised, those of libraries, and the error; all lines stay, in their order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { raisedAt, traceParts } from '../../src/view/stack-trace.ts';
import { fc } from '../seed.ts';

const TRACE = `Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/celery/app/trace.py", line 453, in trace_task
    R = retval = fun(*args, **kwargs)
        ^^^^^^^^^^^^^^^^^^^
  File "/app/shop/payments.py", line 88, in charge_card
    amount = gateway.amount_of(answer)
KeyError: 'amount'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/shop/gateway.py", line 41, in amount_of
    raise ValueError(
ValueError: no amount
  in two lines`;

test('the last frame raised, those of libraries are quiet, and the error ends it', () => {
  assert.deepEqual(
    traceParts(TRACE).map(({ look, text }) => `${look} ${text.split('\n').length}`),
    ['plain 1', 'library 3', 'plain 7', 'raised 2', 'error 2'],
  );
  assert.equal(raisedAt(TRACE), '/app/shop/gateway.py:41');
});

test('a library that raised is marked; a text that is no trace is plain', () => {
  const [, ...frames] = TRACE.split('\n').slice(0, 4);
  assert.deepEqual(
    traceParts(frames.join('\n')).map(({ look }) => look),
    ['raised'],
  );
  assert.deepEqual(traceParts('no trace\n    at all'), [{ look: 'plain', text: 'no trace\n    at all' }]);
  assert.equal(raisedAt('no trace'), undefined);
});

test('no line of any text is lost', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom('  File "a.py", line 1, in b', '    code', '  File "', 'Error: x'),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.join('\n');
      assert.equal(
        traceParts(text)
          .map((part) => part.text)
          .join('\n'),
        text,
      );
    }),
  );
});
