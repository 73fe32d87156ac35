/** That the class of an exception is found in linear time, in any text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorType, failureOf } from '../../src/celery/error-type.ts';
import { bound } from '../bound.ts';
import { processorMs } from '../processor-time.ts';
import { hostileErrors, traceback, WRAPPED } from './python-errors.ts';

const LENGTH = 200_000;
const TIMES = 20_000;

test('the time is bounded for hundreds of kilobytes of any text', (t) => {
  const { exceptions, tracebacks } = hostileErrors(LENGTH);
  const tookMs = processorMs(() => {
    for (const exception of [...exceptions, WRAPPED]) {
      for (const reported of tracebacks) {
        assert.ok(errorType(exception, reported).length <= 100);
        failureOf(exception, reported);
      }
    }
  });
  // Some tens of milliseconds where it is linear, hours where an expression backtracks.
  bound(t, 'classes in all hostile texts of 200 kB', tookMs, 5_000, 'ms');
});

/** Of doing it very often: a clock may only tell what a tick of the system has. */
function costMs(work: () => void): number {
  return processorMs(() => {
    for (let time = 0; time < TIMES; time += 1) work();
  });
}

for (const [what, unit] of [
  ['letters', '一'],
  ['parts', '一.'],
  ['letters beyond 16 bits', '𐐀'],
] as const) {
  test(`texts that consist of ${what} are scanned only once, whatever follows`, (t) => {
    const text = `${unit.repeat(256).slice(0, 250)} -`;
    const once = costMs(() => /^[\p{XIDS}_](?:\.?\p{XIDC}+)*/u.test(text));
    const both = costMs(() => errorType(text, traceback(text)));
    // One of them behind an angle would be looked at twice.
    bound(t, `class of a text of ${what}, compared with one scan`, both / once, 5, 'times');
  });
}
