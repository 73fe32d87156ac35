/** What is only read where traces or logs want it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { type DecodeWants, decode } from '../../src/celery/decode.ts';
import { errorTexts } from '../../src/celery/error-texts.ts';
import { failureOf } from '../../src/celery/error-type.ts';
import type { CeleryEvent, Extras } from '../../src/celery/event.ts';
import { fc } from '../seed.ts';
import { EVERYTHING, message, WIRE_EVENTS } from './wire.ts';

const NOTHING = { lineage: false, errors: false, arguments: false, traced: false };
const HEADER = 'Traceback (most recent call last):\n';
const FRAME = '  File "/app/shop.py", line 7, in pay\n    return pay(order)\n';
const DURING = '\n\nDuring handling of the above exception, another exception occurred:\n\n';

function extrasOf(body: object, wants: DecodeWants | undefined): Extras | undefined {
  const [event] = decode(message(body), 0, undefined, wants).events;
  assert.ok(event !== undefined && 'uuid' in event);
  return event.extras;
}

test('root, parent and exchange are read where they are wanted, and nowhere else', () => {
  const reported = { root_id: 'r1', parent_id: 'p1', exchange: 'orders', result: '1' };
  const wants = { ...NOTHING, lineage: true };
  const lineage = { rootId: 'r1', parentId: 'p1' };
  assert.deepEqual(extrasOf({ ...WIRE_EVENTS['task-sent'], ...reported }, wants), {
    lineage,
    exchange: 'orders',
  });
  assert.deepEqual(extrasOf({ ...WIRE_EVENTS['task-received'], ...reported }, wants), { lineage });
  for (const type of ['task-started', 'task-succeeded', 'task-failed'] as const)
    assert.equal(extrasOf({ ...WIRE_EVENTS[type], ...reported }, wants), undefined);
  for (const type of ['task-sent', 'task-received', 'task-succeeded', 'task-failed'] as const) {
    assert.equal(extrasOf({ ...WIRE_EVENTS[type], ...reported }, undefined), undefined);
    assert.deepEqual(extrasOf({ ...WIRE_EVENTS[type], ...reported }, NOTHING) ?? {}, {});
  }
});

test('in which span a worker runs a task is read where it is wanted; else it is a custom event, like any other', () => {
  const body = message(WIRE_EVENTS['task-traced']);
  for (const wants of [undefined, NOTHING]) {
    const { events, rejections } = decode(body, 0, undefined, wants);
    assert.deepEqual([events.length, rejections.map(({ reason }) => reason)], [0, ['unknown-type']]);
  }
  const wants = { ...NOTHING, traced: true };
  assert.equal(decode(body, 0, undefined, wants).events[0]?.type, 'task-traced');
  for (const traceparent of ['x'.repeat(200_000), 17, null, ['00']]) {
    const [event] = decode(
      message({ ...WIRE_EVENTS['task-traced'], traceparent }),
      0,
      undefined,
      wants,
    ).events;
    assert.ok(event?.type === 'task-traced');
    assert.equal(event.traceparent, '');
  }
});

test('root and parent ids of any type or length are texts of at most 255 characters', () => {
  const hex = { __type__: 'uuid', __value__: { hex: '904eb9dba23247459ccc417c67cab09d' } };
  for (const [given, rootId] of [
    ['r'.repeat(255), 'r'.repeat(255)],
    ['r'.repeat(200_000), ''],
    ['', ''],
    ['__proto__', '__proto__'],
    [null, ''],
    [17, ''],
    [['r'], ''],
    [{ __type__: { __type__: 'uuid' }, __value__: hex }, ''],
    [hex, '904eb9db-a232-4745-9ccc-417c67cab09d'],
  ] as const) {
    const body = { ...WIRE_EVENTS['task-received'], root_id: given, parent_id: given };
    assert.deepEqual(extrasOf(body, EVERYTHING)?.lineage, { rootId, parentId: rootId });
  }
});

test('arguments and results are cut to the length to which Celery cuts them', () => {
  const long = 'x'.repeat(5_000);
  const cut = 'x'.repeat(BODY_LIMITS.message.max);
  const wants = { ...NOTHING, arguments: true };
  const texts = { args: long, kwargs: 17 };
  for (const type of ['task-sent', 'task-received'] as const)
    assert.deepEqual(extrasOf({ ...WIRE_EVENTS[type], ...texts }, wants)?.arguments, {
      args: cut,
      kwargs: '',
    });
  assert.equal(extrasOf({ ...WIRE_EVENTS['task-succeeded'], result: long }, wants)?.result, cut);
});

/** As an event has them. */
function textsOf(exception: unknown, traceback: unknown) {
  const { path, message: said } = errorTexts(exception, traceback, failureOf(exception, traceback).errorType);
  return [path, said];
}

test('the scheme of a URL stays with it: what is hidden of a URL is found by that', () => {
  const url = 'redis://bob:abc@shop';
  for (const exception of [url, null, 'KeyError()']) {
    const [, said = ''] = textsOf(exception, url);
    assert.doesNotMatch(said, /^\/\//u);
  }
  assert.deepEqual(textsOf(url, url)[1], url);
});

test('the class has its module, and the message has no class, whatever the pool', () => {
  const of = (line: string) => `${HEADER}${FRAME}${line}\n`;
  const wrapped = 'ExceptionWithTraceback()';
  for (const [exception, traceback, path, said] of [
    ["Declined('no money')", of('shop.Declined: no money'), 'shop.Declined', 'no money'],
    ["KeyError('k')", of("KeyError: 'k'"), 'KeyError', "'k'"],
    [wrapped, of('shop.Declined: no\nmoney\n'), 'shop.Declined', 'no\nmoney'],
    [wrapped, of('shop.Declined'), 'shop.Declined', ''],
    [wrapped, undefined, '', ''],
    [wrapped, `${of('KeyError: 1')}${DURING}${of('shop.Declined: no')}`, 'shop.Declined', 'no'],
    ['<Declined: no money>', undefined, 'Declined', 'no money'],
    ['<shop.Declined object at 0x7f00>', undefined, 'shop.Declined', ''],
    ['<HttpError 404 when asked>', undefined, 'HttpError', '404 when asked'],
    ["KeyError('it\\'s \\x41\\n')", undefined, 'KeyError', "it's A\n"],
    ["OSError(2, 'No such file', 'x')", undefined, 'OSError', 'No such file'],
    ['KeyError(17)', undefined, 'KeyError', '17'],
    ['KeyError()', undefined, 'KeyError', ''],
    ['order 17: declined', of('shop.Declined: order 17'), 'shop.Declined', 'order 17'],
    ['order 17: declined', undefined, '', 'order 17: declined'],
    ["Busy('again')", of("celery.exceptions.Retry: Retry in 1s: Busy('again')"), 'Busy', 'again'],
    ["Retry(Retry(...), Busy('a, b'), 1)", of('celery.exceptions.Retry: Retry in 1s'), 'Busy', 'a, b'],
    ['None', of('celery.exceptions.Retry: Retry in 1s'), 'celery.exceptions.Retry', 'Retry in 1s'],
    [
      'reject requeue=False: no',
      of("celery.exceptions.Reject: ('no', False)"),
      'celery.exceptions.Reject',
      "('no', False)",
    ],
    [undefined, undefined, '', ''],
    [17, ['x'], '', ''],
  ] as const)
    assert.deepEqual(textsOf(exception, traceback), [path, said], `${exception}`);
});

test('the members of an exception group are no part of its message', () => {
  const group = `  + Exception Group ${HEADER}  |   File "/a.py", line 1, in f\n  |     raise g\n  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | KeyError: 1\n`;
  assert.deepEqual(textsOf('ExceptionWithTraceback()', group), ['ExceptionGroup', 'two (2 sub-exceptions)']);
});

test('a stack trace is kept up to 16 KiB, beyond it without its middle', () => {
  const short = `${HEADER}${FRAME}KeyError: 1\n`;
  assert.equal(errorTexts('', short, 'KeyError').stacktrace, short);
  for (const middle of [FRAME.repeat(1_000), '漢'.repeat(40_000), '😀'.repeat(40_001)]) {
    const long = `${HEADER}  outermost\n${middle}  innermost\nKeyError: 1\n`;
    const { stacktrace } = errorTexts('', long, 'KeyError');
    assert.ok(Buffer.byteLength(stacktrace) <= BODY_LIMITS.stacktrace.max);
    assert.ok(Buffer.byteLength(stacktrace) > BODY_LIMITS.stacktrace.max - 200);
    assert.ok(
      stacktrace.startsWith(`${HEADER}  outermost\n`) && stacktrace.endsWith('  innermost\nKeyError: 1\n'),
    );
    assert.match(stacktrace, /\n\[\.\.\. \d+ bytes left out \.\.\.\]\n/u);
    assert.ok(!stacktrace.includes('\ufffd'));
  }
});

const failed = (traceback: string, exception = 'ExceptionWithTraceback()') =>
  message(JSON.stringify({ ...WIRE_EVENTS['task-failed'], exception, traceback }));

function failure(events: readonly CeleryEvent[]) {
  const [event] = events;
  assert.ok(event?.type === 'task-failed');
  return event;
}

test('of a traceback too long to be parsed, the outermost and the innermost frames are kept', () => {
  const frames = Array.from({ length: 3_000 }, (_, at) => FRAME.replace('7', `${at}`)).join('');
  for (const [before, last] of [
    ['', 'shop.Declined: no\n'],
    [`${HEADER}${FRAME.repeat(2_000)}KeyError: 1\n${DURING}`, `shop.Declined: ${'no '.repeat(9_000)}`],
  ] as const) {
    const { events } = decode(failed(`${before}${HEADER}${frames}${last}`), 0, undefined, EVERYTHING);
    const { errorType, extras } = failure(events);
    const { path, message: said, stacktrace } = extras?.error ?? { path: '', message: '', stacktrace: '' };
    assert.deepEqual([errorType, path, said.slice(0, 3).trim()], ['Declined', 'shop.Declined', 'no']);
    assert.ok(stacktrace.startsWith(`${HEADER}${FRAME.replace('7', before === '' ? '0' : '7')}`));
    assert.ok(stacktrace.includes(`${FRAME.replace('7', '2999')}shop.Declined: no`));
    assert.match(stacktrace, /\n\[\.\.\. \d+ bytes left out \.\.\.\]\n {2}File /u);
    assert.ok(!stacktrace.includes('During'), stacktrace);
    assert.ok(stacktrace.length > 11_000 && Buffer.byteLength(stacktrace) <= BODY_LIMITS.stacktrace.max);
  }
});

test('whatever a long traceback is, its exception has the same class as without texts', () => {
  const part = fc.constantFrom(
    ...[HEADER, FRAME, FRAME.repeat(200), DURING, 'shop.Declined: no\n', 'KeyError: 1\n', '\\', '"', 'é'],
    ...[
      '漢'.repeat(3_000),
      '\n',
      '  + Exception Group ',
      '  |   File "/a.py", line 1\n',
      '  | ',
      ' ',
      'x'.repeat(9_000),
    ],
    ...['[... 17 bytes left out ...]', '\n[... 17 bytes left out ...]'],
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 3, maxLength: 12 }), (parts) => {
      const body = failed(`${parts.join('')}${'y'.repeat(17_000)}`);
      const plain = failure(decode(body).events);
      const { extras, ...event } = failure(decode(body, 0, undefined, EVERYTHING).events);
      assert.deepEqual(event, plain);
      assert.ok(Buffer.byteLength(extras?.error?.stacktrace ?? '') <= BODY_LIMITS.stacktrace.max);
    }),
    { numRuns: 1_000 },
  );
});

test('a body that only fits without stack traces is decoded without them', () => {
  const traceback = `${HEADER}${FRAME.repeat(400)}KeyError: 1\n`;
  const event = { ...WIRE_EVENTS['task-failed'], exception: 'ExceptionWithTraceback()', traceback };
  for (const [count, isWhole] of [
    [24, true],
    [100, true],
    [150, false],
  ] as const) {
    const list = [
      ...Array.from({ length: Math.min(count, 99) }, () => event),
      { ...event, more: Array.from({ length: Math.max(0, count - 99) }, () => traceback) },
    ];
    const { events, rejections } = decode(message(JSON.stringify(list)), 0, undefined, EVERYTHING);
    assert.deepEqual(rejections, []);
    assert.equal((failure(events).extras?.error?.stacktrace ?? '').length > 10_000, isWhole, `${count}`);
  }
});
