/** The class in a long traceback must be the one that would be read in the whole text, however the JSON is written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import { failureOf } from '../../src/celery/error-type.ts';
import { asciiJson } from '../ascii-json.ts';
import { fc } from '../seed.ts';
import { message, WIRE_EVENTS } from './wire.ts';

const WRAPPED = 'ExceptionWithTraceback()';
const HEADER = 'Traceback (most recent call last):\n';
const DURING = '\nDuring handling of the above exception, another exception occurred:\n\n';
const BECAUSE = '\nThe above exception was the direct cause of the following exception:\n\n';

/** What is read of a failure when its traceback is shortened. */
function decoded(exception: string, traceback: string, json = JSON.stringify) {
  const body = json({ ...WIRE_EVENTS['task-failed'], exception, traceback });
  const { events, rejections } = decode(message(body));
  assert.deepEqual(rejections, []);
  const [event] = events;
  assert.ok(event?.type === 'task-failed');
  return event;
}

test('the class of any long traceback is that of the whole text', () => {
  const escapes = ['\n', '\\', '\\n', '"', 'é', '😀', '\0', '漢', `\\n${DURING}`, `\\${DURING.trim()}\n\n`];
  const group = `  + Exception Group ${HEADER}  |   File "x.py", line 1\n`;
  const lines = [
    `\n${DURING}`,
    `\n${BECAUSE}`,
    HEADER,
    `${HEADER}  File "x.py", line 1\n`,
    '\n ',
    '\n  |   ',
    group,
  ];
  const ends = [
    'KeyError: 1',
    'shop.Declined',
    'celery.exceptions.Reject: no',
    ': ',
    ' text',
    '  | ',
    '  +-+- ',
  ];
  const part = fc.constantFrom(...escapes, ...lines, ...ends);
  const parts = fc.array(part, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(parts, parts, fc.boolean(), (before, after, isAscii) => {
      // Long in any of its places.
      const filler = before.at(-1) ?? '';
      const fill = filler.repeat(Math.ceil((BODY_LIMITS.text.max + 10) / filler.length));
      const traceback = [...before, fill, ...after].join('');
      const event = decoded(WRAPPED, traceback, isAscii ? asciiJson : JSON.stringify);
      const { errorType, rejection } = event;
      assert.deepEqual(
        { errorType, rejection },
        failureOf(WRAPPED, traceback),
        JSON.stringify([before, after]),
      );
    }),
    { numRuns: 1000 },
  );
});
