import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import type { RawMessage } from '../../src/broker/broker.ts';
import { BODY_LIMITS } from '../../src/celery/body-limits.ts';
import { decode } from '../../src/celery/decode.ts';
import { ExpansionReserve } from '../../src/celery/expansion.ts';
import { REJECTION_REASONS, type RejectionReason } from '../../src/celery/rejection.ts';
import { message, outcome, WIRE_EVENTS } from './wire.ts';

const [STARTED, SUCCEEDED] = [WIRE_EVENTS['task-started'], WIRE_EVENTS['task-succeeded']];

const SHAPES: readonly (readonly [
  title: string,
  body: unknown,
  types: readonly string[],
  reasons: readonly string[],
])[] = [
  ['a single event', STARTED, ['task-started'], []],
  [
    'a list, in its order',
    [SUCCEEDED, STARTED, SUCCEEDED],
    ['task-succeeded', 'task-started', 'task-succeeded'],
    [],
  ],
  ['an empty list', [], [], ['empty-batch']],
  [
    'a list with some invalid elements',
    [null, STARTED, 17, { ...STARTED, uuid: null }, [STARTED], SUCCEEDED, 'task-started', {}],
    ['task-started', 'task-succeeded'],
    ['not-an-event', 'not-an-event', 'missing-uuid', 'not-an-event', 'not-an-event', 'missing-type'],
  ],
  [
    'a list of 100',
    Array.from({ length: 100 }, () => STARTED),
    Array.from({ length: 100 }, () => 'task-started'),
    [],
  ],
  ['a list of one more than that', Array.from({ length: 101 }, () => STARTED), [], ['batch-too-long']],
  [
    'a custom event about a task',
    { ...STARTED, type: 'task-progress', current: 3, total: 10 },
    [],
    ['unknown-type'],
  ],
  [
    'types named like built-in properties',
    ['constructor', '__proto__', 'toString', 'hasOwnProperty'].map((type) => ({ ...STARTED, type })),
    [],
    ['unknown-type', 'unknown-type', 'unknown-type', 'unknown-type'],
  ],
];

for (const [title, body, types, reasons] of SHAPES) {
  test(`${title}: each element is one event or one rejection`, () => {
    assert.deepEqual(outcome(message(body)), { types, reasons });
  });
}

test('the routing key has no influence', () => {
  const { events } = decode(
    message(WIRE_EVENTS['worker-heartbeat'], { routingKey: 'task.multi', exchange: '' }),
  );
  assert.equal(events[0]?.type, 'worker-heartbeat');
});

/** A text long enough that the body’s structure is checked. */
const padding = JSON.stringify('x'.repeat(BODY_LIMITS.unscanned.max));

/** Text that no compression makes less than half as large. */
function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}

/** For each reason at least one message that is rejected for it alone. */
/** The one reason that depends on earlier messages. */
const TOO_COSTLY = 'decompression-too-costly';

const REJECTED: Readonly<Record<Exclude<RejectionReason, typeof TOO_COSTLY>, readonly RawMessage[]>> = {
  'empty-batch': [message([]), message(' [ ] ')],
  'unknown-type': [message({ type: 'task-progress' })],
  'undecodable-headers': [
    message(STARTED, { headers: undefined }),
    message('', { headers: undefined, contentType: '', contentEncoding: '' }),
  ],
  'body-too-large': [
    message(Buffer.alloc(BODY_LIMITS.body.max + 1, ' ')),
    message(deflateSync(Buffer.from(randomHex(BODY_LIMITS.compressed.max)), { level: 1 }), {
      headers: { compression: 'application/x-gzip' },
    }),
  ],
  'expands-too-far': [
    message(deflateSync(Buffer.alloc(1024 * 1024, ' ')), { headers: { compression: 'application/x-gzip' } }),
  ],
  'nested-too-deep': [
    message('['.repeat(100_000)),
    message(`${'{"a":'.repeat(33)}${padding}${'}'.repeat(33)}`),
  ],
  'too-many-tokens': [message(`[${'0,'.repeat(50_000)}0]`)],
  'name-too-long': [message(`{"${'n'.repeat(16 * 1024)}" :${padding}}`)],
  'batch-too-long': [message(Array.from({ length: 1_001 }, () => 0))],
  'unsafe-serializer': [message('K\x01.', { contentType: 'application/x-python-serialize' })],
  'unsupported-serializer': [message(STARTED, { contentType: 'application/x-yaml' })],
  'unsupported-encoding': [message(STARTED, { contentEncoding: 'utf-16' })],
  'unsupported-compression': [message(STARTED, { headers: { compression: 'application/x-bz2' } })],
  'corrupt-compression': [message(STARTED, { headers: { compression: 'application/x-gzip' } })],
  'invalid-text': [message(Buffer.from([0x22, 0xff, 0x22]))],
  'invalid-json': [message('{"type": "task-started"'), message(''), message("{'type': 'task-started'}")],
  'not-an-event': [message('null'), message('17'), message('"task-started"'), message([[STARTED]])],
  'missing-type': [message({}), message({ ...STARTED, type: '' }), message({ ...STARTED, type: 7 })],
  'missing-hostname': [message({ ...STARTED, hostname: '' }), message({ ...STARTED, hostname: ['w1@vm'] })],
  'missing-uuid': [message({ ...STARTED, uuid: '' }), message({ ...STARTED, uuid: 'u'.repeat(256) })],
  // Milliseconds where Celery has seconds.
  'bad-timestamp': [message({ ...STARTED, timestamp: 1795260275390 })],
};

test('every rejection reason is tested here', () => {
  assert.deepEqual([...Object.keys(REJECTED), TOO_COSTLY].sort(), Object.keys(REJECTION_REASONS).sort());
});

test(`${TOO_COSTLY} is the only reason once the time for decompression is used up, for compressed bodies only`, () => {
  const reserve = new ExpansionReserve(0);
  reserve.take(BODY_LIMITS.expansion_cost.max);
  const body = JSON.stringify(STARTED);
  const headers = { compression: 'application/x-gzip' };
  for (const compressed of [
    deflateSync(body),
    deflateSync(Buffer.alloc(1024 * 1024)),
    Buffer.from('corrupt'),
  ]) {
    const { events, rejections } = decode(message(compressed, { headers }), 0, reserve);
    assert.deepEqual([events.length, rejections.map(({ reason }) => reason)], [0, [TOO_COSTLY]]);
  }
  assert.deepEqual(decode(message(body), 0, reserve).rejections, []);
});

for (const [reason, messages] of Object.entries(REJECTED)) {
  test(`${reason} is the only reason`, () => {
    assert.ok(messages.length > 0);
    for (const [index, rejected] of messages.entries()) {
      assert.deepEqual(outcome(rejected), { types: [], reasons: [reason] }, `message ${index}`);
    }
  });
}

test('fields named like built-in properties change nothing', () => {
  const hostile =
    '{"__proto__": {"hostname": "evil", "polluted": true}, "constructor": {"prototype": {"polluted": true}}, ' +
    '"toString": null, "hasOwnProperty": 1, "type": "task-started", "uuid": "__proto__", "hostname": "w1@vm", ' +
    '"timestamp": 1795260275.39}';
  const [event] = decode(message(`[${hostile}]`)).events;
  assert.ok(event?.type === 'task-started');
  assert.equal(Object.getPrototypeOf(event), Object.prototype);
  const fields = ['clock', 'hostname', 'implausibleMs', 'pid', 'timestampMs', 'type', 'uuid'];
  assert.deepEqual(Object.keys(event).sort(), fields);
  assert.equal(event.uuid, '__proto__');
  assert.equal(event.hostname, 'w1@vm');
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('of two fields with one name the last one counts, as in Python', () => {
  const twice = `{"type": "task-sent", ${JSON.stringify(STARTED).slice(1)}`;
  assert.deepEqual(outcome(message(twice)), { types: ['task-started'], reasons: [] });
});
