/** Trace and span ids: those of other languages by the same rules. Expected hashes were made with Python's hashlib. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashedId, validId } from '../../src/tracer/hashed-id.ts';
import { processSpanId, sendSpanId } from '../../src/tracer/span-id.ts';
import { traceOrigin } from '../../src/tracer/trace-origin.ts';
import { PARENT, run, sent, tracer, UUID } from './finished-facts.ts';

const HEX = UUID.replaceAll('-', '');
const ZEROS = '00000000-0000-0000-0000-000000000000';
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const TRACEPARENT_HASH = '30358f364e711eb546eb3af2f8a4a22b';

/** The trace of a task with this root. */
function traceOf(rootId: string, { uuid = PARENT, join = false } = {}) {
  return traceOrigin(rootId, uuid, join);
}

test('a uuid in any form is its digits', () => {
  for (const rootId of [UUID, UUID.toUpperCase(), HEX, HEX.toUpperCase()]) {
    const { traceId, isRootId } = traceOf(rootId);
    assert.deepEqual({ traceId, isRootId }, { traceId: HEX, isRootId: true });
  }
});

test('any other text is hashed in UTF-8', () => {
  const expected = {
    'order-17-charge': 'c2e408268f3bd738db4f1f71a28f084e',
    'naïve ☃': '090b6d95f29a5638955bac4d0cd4ba18',
    '0': '5feceb66ffc86f38d952786c6d696c79',
    '\ud800': '83d544ccc223c057d2bf80d3f2a32982',
    [TRACEPARENT]: TRACEPARENT_HASH,
  };
  for (const [rootId, traceId] of Object.entries(expected)) {
    const made = traceOf(rootId);
    assert.deepEqual(made, { traceId, isRandom: true, upstream: undefined, isRootId: false });
  }
  for (const nearly of [
    ` ${UUID}`,
    `{${UUID}}`,
    `${HEX}0`,
    HEX.slice(1),
    UUID.replace('-', ''),
    `${UUID}\n`,
  ]) {
    assert.equal(traceOf(nearly).traceId, hashedId(nearly, 32), nearly);
  }
});

test('a root that is not told, or is zeros, is the task itself', () => {
  for (const rootId of ['', ZEROS, ZEROS.replaceAll('-', '')]) {
    assert.equal(traceOf(rootId).traceId, PARENT.replaceAll('-', ''));
    assert.equal(traceOf(rootId, { uuid: 'order-17-charge' }).traceId, 'c2e408268f3bd738db4f1f71a28f084e');
  }
  assert.equal(traceOf(ZEROS, { uuid: ZEROS }).traceId, '12b9377cbe7e5c94e8a70d9d23929523');
});

test('an id of zeros is never made', () => {
  assert.equal(validId('0'.repeat(16)), '0000000000000001');
  assert.equal(validId('0000000000000002'), '0000000000000002');
  assert.equal(validId('0'.repeat(32)).length, 32);
});

test('only version 4 and hashes are random', () => {
  const versions = Array.from({ length: 8 }, (_, version) => `90817c7f-6c28-${version}fe5-aa46-7adb16d15d7d`);
  assert.deepEqual(
    versions.map((uuid) => traceOf(uuid).isRandom),
    [false, false, false, false, true, false, false, false],
  );
  assert.equal(traceOf('90817c7f-6c28-4fe5-ca46-7adb16d15d7d').isRandom, false);
});

test('a traceparent is joined only where that is wanted', () => {
  assert.deepEqual(traceOf(TRACEPARENT, { join: true }), {
    traceId: '0af7651916cd43dd8448eb211c80319c',
    isRandom: false,
    upstream: { spanId: 'b7ad6b7169203331', flags: 1 },
    isRootId: false,
  });
  assert.equal(traceOf(TRACEPARENT.replace(/01$/, '03'), { join: true }).isRandom, true);
  assert.equal(traceOf(TRACEPARENT, { join: false }).traceId, TRACEPARENT_HASH);
});

test('what only looks like a traceparent is any text', () => {
  const wrong = [
    TRACEPARENT.toUpperCase(),
    TRACEPARENT.replace(/^00/, 'ff'),
    TRACEPARENT.replace(/^00/, '01'),
    TRACEPARENT.replace(/01$/, '0g'),
    TRACEPARENT.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    TRACEPARENT.replace('b7ad6b7169203331', '0'.repeat(16)),
    `${TRACEPARENT}-00`,
    ` ${TRACEPARENT}`,
    `${TRACEPARENT}\n`,
    TRACEPARENT.slice(0, -1),
  ];
  for (const text of wrong) {
    const made = traceOf(text, { join: true });
    assert.equal(made.traceId, hashedId(text, 32), text);
    assert.equal(made.upstream, undefined, text);
  }
});

test('span ids by the formulas that anybody can compute', () => {
  assert.equal(processSpanId('order-17', { retries: 3, delivery: 2 }), 'd57ffb752086fc50');
  assert.equal(sendSpanId('order-17', { name: 'shop.naïve ☃' }), 'a6797b863e02b421');
  assert.equal(sendSpanId('', { name: '' }), '7fcac89b7c6f91ae');
  assert.equal(processSpanId('a\u0000b', { retries: 0, delivery: 0 }), '1bcca7cb69eee17d');
});

test('a shadow name is that of the run, the real one that of the sending', () => {
  const spans = tracer().trace(
    run({ sent: sent({ name: 'shop.real' }), run: { task: 'shadow', queue: 'orders', worker: 'w1@h' } }),
  ).spans;
  assert.deepEqual(
    spans.map(({ name, spanId }) => [name, spanId]),
    [
      ['send shop.real', sendSpanId(UUID, { name: 'shop.real' })],
      ['process shadow', processSpanId(UUID, { retries: 0, delivery: 0 })],
    ],
  );
  assert.equal(spans[1]?.parentSpanId, spans[0]?.spanId);
});

test('the id of a task that begins a trace of its own joins none, whatever it looks like', () => {
  const made = tracer({ join: true }).trace(
    run({ uuid: TRACEPARENT, rootId: UUID, traceRootId: TRACEPARENT, beginsTrace: true }),
  );
  assert.equal(made.context?.traceId, TRACEPARENT_HASH);
});

test('without a root, a receipt or a sending there is no trace', () => {
  const made = tracer().trace(run({ rootId: '', traceRootId: '', receivedMs: undefined }));
  assert.deepEqual(made, { context: undefined, isKept: false, spans: [], droppedUnknownRoot: true });
  for (const known of [{ receivedMs: 1 }, { receivedMs: undefined, sent: sent() }]) {
    const own = tracer().trace(run({ rootId: '', traceRootId: '', ...known }));
    assert.equal(own.context?.traceId, HEX);
    assert.equal(own.isKept, true);
  }
});
