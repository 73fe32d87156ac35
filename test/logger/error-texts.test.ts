/** Texts of exceptions are bounded, safe and without secrets, also where they were cut, and without messages if so wanted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorTexts } from '../../src/celery/error-texts.ts';
import { MESSAGE_CHARS_MAX, STACKTRACE_CHARS_MAX, shownTexts } from '../../src/logger/error-texts.ts';
import { fc } from '../seed.ts';
import { recordedErrors } from './recorded-errors.ts';
import { CORE, planted } from './secrets.ts';
import { ALL, FRAMES, NO_MESSAGE, stackOf } from './stack-texts.ts';

test('Texts are shown as they are', () => {
  for (const { traceback } of recordedErrors()) {
    const texts = { path: 'shop.Declined', message: 'card 17:\n\tno', stacktrace: traceback };
    assert.deepEqual(shownTexts(texts, ALL), texts);
  }
});

test('What is not wanted is left out', () => {
  const texts = { path: 'shop.Declined', message: 'card 17', stacktrace: 'shop.Declined: card 17' };
  assert.deepEqual(shownTexts(texts, NO_MESSAGE), { ...texts, message: '', stacktrace: 'shop.Declined' });
  assert.equal(shownTexts(texts, { ...ALL, exceptionStacktrace: false }).stacktrace, '');
});

test('Long texts are cut: a message at the end, a stack trace in the middle', () => {
  const { message, stacktrace } = shownTexts(
    { path: '', message: 'm'.repeat(2000), stacktrace: `first\n${'  x\n'.repeat(9000)}last` },
    ALL,
  );
  assert.equal(message.length, MESSAGE_CHARS_MAX);
  assert.match(message, /m…$/);
  assert.ok(stacktrace.length <= STACKTRACE_CHARS_MAX && stacktrace.length > STACKTRACE_CHARS_MAX / 3);
  assert.match(stacktrace, /^first\n.*\n\[\.\.\. \d+ characters left out \.\.\.\]\n.*last$/s);
});

test('A secret is not shown where a stack trace was cut in front of it, here or at decoding', () => {
  fc.assert(
    fc.property(planted, fc.nat({ max: 300 }), fc.boolean(), (secret, shift, isDecoded) => {
      const said = `shop.Declined: ${'é'.repeat(shift)}\n  ${secret}`;
      const whole = `Traceback (most recent call last):\n${FRAMES(400)}${said}`;
      // The cut is within the last line, or near.
      const tail = `${'\n    more'.repeat(900)}`;
      const at = whole.search(CORE) - (shift % 40);
      const text = isDecoded
        ? `${FRAMES(3)}\n[... 99 bytes left out ...]\n${whole.slice(at)}${tail}`
        : `${FRAMES(200)}${whole.slice(-STACKTRACE_CHARS_MAX / 2 + (shift % 60))}`;
      assert.doesNotMatch(stackOf(text), CORE);
    }),
    { numRuns: 1000 },
  );
});

test('Without messages, a stack trace has classes and frames', () => {
  const header = 'Traceback (most recent call last):\n';
  const between = '\n\nDuring handling of the above exception, another exception occurred:\n\n';
  const first = `${header}${FRAMES(1)}KeyError: 'Zq'\nnote Zq\n\n  File Zq`;
  const second = `${header}${FRAMES(1)}shop.Declined: Zq\n  Zq\n${header}${FRAMES(1)}Zq: Zq\n`;
  const group =
    `  + Exception Group ${header}  |   File "a.py", line 1, in f\n  |     g()\n  | ExceptionGroup: Zq (1 sub-exception)\n` +
    `  +-+---------------- 1 ----------------\n    | ${header}    |   File "b.py", line 2, in g\n    |     h()\n    | ValueError: Zq\n    | Zq\n    +------------------------------------`;
  assert.equal(
    stackOf(first + between + second + between.trimEnd(), NO_MESSAGE),
    `${header}${FRAMES(1)}KeyError${between}${header}${FRAMES(1)}shop.Declined`,
  );
  assert.equal(
    stackOf(group, NO_MESSAGE),
    group.replace(': Zq (1 sub-exception)', '').replace(': Zq\n    | Zq', ''),
  );
  // What is below a gap may be a message.
  assert.equal(
    stackOf(`${header}${FRAMES(2)}[... 9 bytes left out ...]\nZq\n  Zq\nZq`, NO_MESSAGE),
    `${header}${FRAMES(2)}[... 9 bytes left out ...]`,
  );
});

test('Without messages, nothing that real exceptions say is shown', () => {
  for (const { traceback } of recordedErrors()) {
    const stack = stackOf(traceback, NO_MESSAGE);
    assert.match(stack, /^Traceback .*\n[\w.]+$/s);
    const lines = traceback.trimEnd().split('\n');
    assert.deepEqual(
      stack
        .split('\n')
        .filter(
          (line) =>
            line !== '' && !lines.includes(line) && !lines.some((each) => each.startsWith(`${line}: `)),
        ),
      [],
    );
  }
});

test('What the user’s patterns match is not shown up to where a message or a stack trace was cut at decoding', () => {
  const settings = { ...ALL, redact: [/\b\d{16}\b/u] };
  const card = '4111111111111111';
  for (let shift = 0; shift < 32; shift += 1) {
    const message = `${'m '.repeat(500)}${'-'.repeat(shift)} ${card} was declined`;
    const stack = `Traceback (most recent call last):\n${'#'.repeat(shift)}\n${FRAMES(300).replaceAll('Declined()', card)}`;
    const error = errorTexts(`Declined('${message}')`, `${stack}shop.Declined: no`, 'Declined');
    const shown = shownTexts({ ...error, message: message.slice(0, MESSAGE_CHARS_MAX) }, settings);
    assert.doesNotMatch(shown.message, /\d{6}/);
    assert.doesNotMatch(shown.stacktrace, /\d{6}/);
  }
});
