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
const KIB = 1024;

const frames = (bytes: number) =>
  '  File "/srv/shop/tasks.py", line 49, in pay\n    raise Declined()\n'.repeat(Math.ceil(bytes / 64));
const raised = (framesBytes: number, end: string) => `${HEADER}${frames(framesBytes)}${end}\n`;
const words = (bytes: number) => 'word '.repeat(bytes / 5);

/** What is read of a failure when its traceback is shortened. */
function decoded(exception: string, traceback: string, json = JSON.stringify) {
  const body = json({ ...WIRE_EVENTS['task-failed'], exception, traceback });
  const { events, rejections } = decode(message(body));
  assert.deepEqual(rejections, []);
  const [event] = events;
  assert.ok(event?.type === 'task-failed');
  return event;
}

const SQL = words(3 * KIB);
const GROUP_FRAMES = frames(3 * KIB)
  .replaceAll(/^/gmu, '  | ')
  .slice(0, -4);
const MEMBER = '    |   File "/srv/shop/tasks.py", line 7, in f\n    | KeyError: 1\n'.repeat(400);

for (const [what, traceback, is] of [
  [
    'after a chained one with a long message',
    `${raised(200, `IntegrityError: ${SQL}`)}${BECAUSE}${raised(200, `OrderFailed: ${words(16 * KIB)}`)}`,
    'OrderFailed',
  ],
  [
    'with many frames, after a chained one with a long message',
    `${raised(200, `IntegrityError: ${SQL}`)}${DURING}${raised(120 * KIB, 'RecursionError: too deep')}`,
    'RecursionError',
  ],
  [
    'after a rejection that was handled',
    `${raised(200, `celery.exceptions.Reject: ${SQL}`)}${DURING}${raised(200, `OrderFailed: ${words(16 * KIB)}`)}`,
    'OrderFailed',
  ],
  [
    'whose message quotes a traceback',
    raised(3 * KIB, `OrderFailed: script failed:\n${raised(16 * KIB, "KeyError: 'inner'")}`),
    'OrderFailed',
  ],
  [
    'with a note that quotes a traceback',
    raised(3 * KIB, `OrderFailed: no\nremote:\n${raised(16 * KIB, "KeyError: 'inner'")}`),
    'OrderFailed',
  ],
  ['with a long message', raised(3 * KIB, `shop.Declined: ${words(20 * KIB)}`), 'Declined'],
  [
    'with a long line of source',
    raised(3 * KIB, `  File "<unknown>", line 1\n    [${'1,'.repeat(9000)}2 3]\n     ^\nSyntaxError: no`),
    'SyntaxError',
  ],
  [
    'with many members',
    `  + Exception Group ${HEADER}${GROUP_FRAMES}  | ExceptionGroup: two (2 sub-exceptions)\n${MEMBER}`,
    'ExceptionGroup',
  ],
  ['without a class', `${HEADER}${frames(20 * KIB)}`, 'unknown'],
  [
    'in Windows',
    `${HEADER}${'  File "C:\\new\\n\\tasks.py", line 49, in pay\n    raise Declined("\\n\\n")\n'.repeat(300)}shop.Declined: C:\\new\n`,
    'Declined',
  ],
] as const)
  test(`an exception ${what} counts as ${is}`, () => {
    assert.ok(traceback.length > BODY_LIMITS.text.max);
    for (const exception of [WRAPPED, 'card declined by issuer'])
      for (const json of [JSON.stringify, asciiJson]) {
        const event = decoded(exception, traceback, json);
        assert.equal(event.errorType, is);
        assert.equal(event.rejection, false);
      }
  });

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
