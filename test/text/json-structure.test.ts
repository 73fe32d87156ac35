import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import { beginning, excessOf, shortened } from '../../src/text/json-structure.ts';
import { asciiJson } from '../ascii-json.ts';
import { recordedMessages } from '../celery/recorded-messages.ts';
import { message, outcome, WIRE_EVENTS } from '../celery/wire.ts';
import { fc } from '../seed.ts';

const { depth, property, tokens, unscanned } = BODY_LIMITS;

const LIMITS = { depthMax: depth.max, tokensMax: tokens.max };
const excess = (text: string) => excessOf(Buffer.from(text), LIMITS);

test('a body of the maximum depth is accepted, one level more is not', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const nested = (levels: number) => `${open.repeat(levels)}1${close.repeat(levels)}`;
    assert.equal(excess(nested(depth.max)), undefined);
    assert.equal(excess(nested(depth.max + 1)), 'nested-too-deep');
  }
  assert.equal(excess(`[${'[[]],'.repeat(500)}1]`), undefined, 'what is closed is no longer deep');
});

test('a body with the maximum number of tokens is accepted, one more is not', () => {
  // The list, the first value, and one behind each comma.
  const list = (values: number) => `[${'0,'.repeat(values - 1)}0]`;
  assert.equal(excess(list(tokens.max - 1)), undefined);
  assert.equal(excess(list(tokens.max)), 'too-many-tokens');
  const names = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join()}}`;
  assert.equal(excess(names(tokens.max / 2 - 1)), undefined);
  assert.equal(excess(names(tokens.max / 2)), 'too-many-tokens');
});

test('a name of the maximum length is accepted, one byte more is not, and only names are limited', () => {
  const limit = property.max;
  const longest = `é\\"${'n'.repeat(limit - 4)}`;
  for (const [before, after] of [
    ['{', ':1}'],
    ['[{"a":1,', ' \n: "x"}]'],
  ] as const) {
    assert.equal(excess(`${before}"${longest}"${after}`), undefined);
    assert.equal(excess(`${before}"${longest}n"${after}`), 'name-too-long');
  }
  const text = 't'.repeat(2 * limit);
  assert.equal(excess(`{"a":"${text}","b":["${text}","${text}"],"c":1}`), undefined);
});

test('bytes outside of strings are limited if that is requested, whatever they are', () => {
  const isWithin = (text: string, unquotedMax: number) =>
    excessOf(Buffer.from(text), { ...LIMITS, unquotedMax }) === undefined;
  for (const [text, unquoted] of [
    ['12345', 5],
    ['  1', 3],
    ['"1234"', 0],
    ['{"a":"\\"234"}', 3],
    ['["12", 1.5e300 ,"\\\\"]', 13],
  ] as const) {
    assert.ok(isWithin(text, unquoted), text);
    assert.ok(unquoted === 0 || !isWithin(text, unquoted - 1), text);
  }
});

test('a body may have 32 bytes outside of strings for each token that it may have, but not more', () => {
  const most = 32 * tokens.max;
  for (const [open, unit, close] of [
    ['', ' ', '1'],
    ['[', '7', ']'],
    ['["[,",', ' ', '"\\\\"]'],
  ] as const) {
    const counted = (open + close).replaceAll(/"(?:[^"\\]|\\.)*"/gu, '').length;
    const body = (bytes: number) => `${open}${unit.repeat(bytes - counted)}${close}`;
    assert.equal(excess(body(most)), undefined);
    assert.equal(excess(body(most + 1)), 'too-many-tokens');
  }
  assert.equal(excess(JSON.stringify('7'.repeat(4 * most))), undefined);
});

test('brackets in a string are not structure', () => {
  for (const inside of ['[', '{', ',', ':', '\\"[', '\\\\\\",', '一,', '\\u005b{']) {
    assert.equal(
      excess(JSON.stringify([1]).replace('1', `"${inside.repeat(tokens.max)}"`)),
      undefined,
      inside,
    );
  }
  assert.equal(excess(`["\\\\",${'0,'.repeat(tokens.max)}0]`), 'too-many-tokens', 'a backslash ends no text');
});

test('a small body may exceed the limits, a larger one is rejected', () => {
  const padded = (text: string, bytes: number) => message(text.padEnd(bytes, ' '));
  const deep = `${'['.repeat(depth.max + 1)}${']'.repeat(depth.max + 1)}`;
  assert.deepEqual(outcome(padded(deep, unscanned.max)).reasons, ['not-an-event']);
  assert.deepEqual(outcome(padded(deep, unscanned.max + 1)).reasons, ['nested-too-deep']);
  const latin1 = padded(deep, unscanned.max + 1);
  assert.deepEqual(outcome({ ...latin1, contentEncoding: 'latin-1' }).reasons, ['nested-too-deep']);
});

/** How deep a value nests, and how many values and names it has: slowly, and from what the parser made. */
function measured(value: unknown): { depth: number; tokens: number } {
  const isList = Array.isArray(value);
  if (typeof value !== 'object' || value === null) return { depth: 0, tokens: 1 };
  const inner = Object.values(value).map(measured);
  return {
    depth: 1 + Math.max(0, ...inner.map((each) => each.depth)),
    tokens: inner.reduce((sum, each) => sum + each.tokens, 1) + (isList ? 0 : inner.length),
  };
}

/** Nested and wide enough to be beyond either limit now and then. */
const values = fc
  .record({
    value: fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }),
    levels: fc.integer({ min: 0, max: 2 * depth.max }),
    copies: fc.integer({ min: 0, max: tokens.max }),
    named: fc.boolean(),
  })
  .map(({ value, levels, copies, named }) => {
    let nested: unknown = [value, Array.from({ length: copies }, () => (named ? { a: '"]' } : '{'))];
    for (let level = 0; level < levels; level += 1) nested = named ? { a: nested } : [nested];
    return nested;
  });

test('accepted bodies are within the limits, rejected ones exceed one', () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(values, fc.constantFrom(undefined, 1), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      const found = excess(text);
      const real = measured(JSON.parse(text));
      seen.set(String(found), (seen.get(String(found)) ?? 0) + 1);
      if (found === undefined) assert.ok(real.depth <= depth.max && real.tokens <= tokens.max);
      if (found === 'nested-too-deep') assert.ok(real.depth > depth.max);
      // An empty list or object counts as one more, and a name that is told twice counts twice.
      if (found === 'too-many-tokens') assert.ok(real.tokens * 2 > tokens.max);
    }),
    { numRuns: 300 },
  );
  for (const kind of ['undefined', 'nested-too-deep', 'too-many-tokens'])
    assert.ok((seen.get(kind) ?? 0) > 10, kind);
});

test('the scan ends for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      assert.equal(excessOf(bytes, LIMITS), undefined);
    }),
    { numRuns: 1_000 },
  );
});

test('no body that Celery sent exceeds a limit', () => {
  const bodies = recordedMessages().map(({ body }) => body);
  assert.ok(bodies.length > 1_000, `${bodies.length} messages`);
  for (const body of bodies) {
    assert.equal(excessOf(body, LIMITS), undefined);
    assert.ok(body.length < unscanned.max, 'and is so small that nobody looks');
    const real = measured(JSON.parse(body.toString()));
    assert.ok(real.depth <= 4 && real.tokens < tokens.max / 10);
  }
});

test('a list of 24 failures of tasks that call each other as deep as Python goes is accepted', () => {
  const frame = (line: number) =>
    `  File "/usr/local/lib/python3.13/site-packages/shop/orders.py", line ${line}, in charge_customer\n    return refund_customer(order, attempt + 1)\n           ~~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^^^^^\n`;
  const traceback = `Traceback (most recent call last):\n${Array.from({ length: 980 }, (_, at) => frame(10 + (at % 2))).join('')}RecursionError: maximum recursion depth exceeded\n`;
  const failure = { ...WIRE_EVENTS['task-failed'], exception: 'RecursionError()', traceback };
  const body = JSON.stringify(Array<typeof failure>(24).fill(failure));
  assert.ok(traceback.length > 180_000 && body.length > 4_400_000, `${traceback.length} characters`);
  assert.equal(decode(message(body)).events.length, 24);
});

test('lists of 24 failures with any tracebacks of Celery are accepted', () => {
  const frames = fc.integer({ min: 0, max: 500 });
  const lists = fc.array(
    fc.record({
      frames,
      text: fc.string({ unit: 'binary', maxLength: 100 }),
      width: fc.integer({ min: 1, max: 80 }),
    }),
    { minLength: 24, maxLength: 24 },
  );
  fc.assert(
    fc.property(lists, (failures) => {
      const list = failures.map((failure) => ({
        ...WIRE_EVENTS['task-failed'],
        traceback: `Traceback (most recent call last):\n${`  File "/srv/${'x'.repeat(failure.width)}.py", line 7, in [{,:\n`.repeat(failure.frames)}ValueError: ${failure.text}\n`,
      }));
      const body = JSON.stringify(list);
      if (Buffer.byteLength(body) > BODY_LIMITS.body.max) return;
      const { events, rejections } = decode(message(body));
      assert.deepEqual([events.length, rejections.length], [24, 0]);
    }),
    { numRuns: 100 },
  );
});

const TEXT_MAX = 16;
const OTHER = '\nother';

/** The text as it is after parsing the shortened JSON, with eight characters or so at its beginning. */
function shortenedText(text: string, json = JSON.stringify(text)): string {
  const quotes: number[] = [];
  const bytes = Buffer.from(`{"a":"x","b":[${json}]}`);
  assert.equal(excessOf(bytes, { ...LIMITS, textMax: TEXT_MAX }, quotes), undefined);
  const other = (content: Buffer) => {
    assert.equal(`"${content}"`, json);
    return [beginning(content, TEXT_MAX / 2), Buffer.from('\\nother')];
  };
  const { a, b }: { a: unknown; b: string[] } = JSON.parse(shortened(bytes, quotes, other).toString());
  assert.equal(a, 'x');
  return b.join();
}

test('a long string keeps its beginning and what is found in it, whatever is in it, and is valid JSON', () => {
  const part = fc.constantFrom('a', 'é', '😀', '漢', '"', '\\', '\n', '\0', 'u', '00e9', '\\"', '[,]{:}');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 80 }), fc.boolean(), (parts, isAscii) => {
      const text = parts.join('');
      const kept = shortenedText(text, isAscii ? asciiJson(text) : JSON.stringify(text));
      if (kept === text) return;
      assert.ok(kept.endsWith(OTHER) && text.startsWith(kept.slice(0, -OTHER.length)), `${text}: ${kept}`);
      // An escape that begins with the last byte adds five.
      const bytes = (isAscii ? asciiJson(kept) : JSON.stringify(kept)).length;
      assert.ok(bytes <= 2 + TEXT_MAX / 2 + 5 + '\\nother'.length, kept);
    }),
    { numRuns: 3000 },
  );
});

test('a string is shortened to the parts that are kept', () => {
  assert.equal(shortenedText('x'.repeat(TEXT_MAX)), 'x'.repeat(TEXT_MAX));
  assert.equal(shortenedText(`12345678${'x'.repeat(1000)}`), `12345678${OTHER}`);
  assert.equal(shortenedText('\\'.repeat(1000)), `\\\\\\\\${OTHER}`);
});
