/** Replaying: what every transport must do, and speed, clock and damage, which only a recording has. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRecordingTransport } from '../../../src/broker/recording/transport.ts';
import { testConformance } from '../conformance.ts';
import { addressOf, messagesOf, observeSession } from '../observed-session.ts';
import { BEGUN_MS, fileOf, folder, HEADER, lineOf, replay } from './replay.ts';

testConformance('a recording', {
  create: createRecordingTransport,
  absent: () => addressOf('recording:/nowhere/at/all.ndjson'),
  async open(t, messages) {
    // An hour of silence follows, so the session does not end by itself.
    const path = fileOf(t, HEADER, ...messages.map((message) => lineOf(0, message)), lineOf(3_600_000));
    return { session: { url: addressOf(`recording:${path}`) }, send: async () => undefined };
  },
});

test('a recording ends as finished, and its clock stops at the last message', async (t) => {
  const path = fileOf(t, HEADER, lineOf(0), lineOf(50));
  const { transport, session } = replay(t, path, '1000');
  assert.equal(transport.now(), 0, 'before the first message is known');
  assert.deepEqual(await session.ended, { kind: 'finished' });
  assert.deepEqual(
    messagesOf(session.log).map((message) => message.arrivedAtMs),
    [BEGUN_MS, BEGUN_MS + 50],
  );
  assert.equal(transport.now(), BEGUN_MS + 50);
});

test('messages are replayed no sooner than at their original intervals, divided by the speed', async (t) => {
  const path = fileOf(t, HEADER, lineOf(0), lineOf(4000), lineOf(10_000));
  const started = performance.now();
  const elapsed: number[] = [];
  const session = observeSession(t, createRecordingTransport(), {
    url: addressOf(`recording:${path}?speed=50`),
    deliver: () => elapsed.push(performance.now() - started),
  });
  await session.ended;
  const [first, second = 0, third = 0] = elapsed;
  assert.ok(first !== undefined && second >= 79 && third >= 199, `after ${elapsed}`);
});

test('between messages the clock runs, but never passes the next message', async (t) => {
  const path = fileOf(t, HEADER, lineOf(0), lineOf(100_000), lineOf(3_600_000));
  const { transport, session } = replay(t, path, '100');
  const seen: number[] = [];
  for await (const _ of pulses(t)) {
    seen.push(transport.now() - BEGUN_MS);
    if (messagesOf(session.log).length === 2) break;
  }
  const between = seen.filter((time) => time > 0 && time < 100_000);
  assert.ok(new Set(between).size > 1, `${between}`);
  assert.deepEqual(
    seen.slice(1),
    seen.slice(1).toSorted((a, b) => a - b),
  );
  session.stopping.abort();
  await session.ended;
  const stoppedAt = transport.now();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(transport.now(), stoppedAt, 'time stands still after the end');
});

test('with speed=max there are no waits, and the time is that of the message', async (t) => {
  const path = fileOf(t, HEADER, lineOf(0), lineOf(86_400_000), lineOf(5000), lineOf(1e12));
  const transport = createRecordingTransport();
  const times: number[] = [];
  const session = observeSession(t, transport, {
    url: addressOf(`recording:${path}?speed=max`),
    deliver: () => times.push(transport.now() - BEGUN_MS),
  });
  assert.deepEqual(await session.ended, { kind: 'finished' });
  assert.deepEqual(times, [0, 86_400_000, 86_400_000, 1e12]);
});

test('a message years later is waited for, and the wait can be stopped', async (t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const path = fileOf(t, HEADER, lineOf(0), lineOf(1e12));
  const { session } = replay(t, path, '1');
  await session.delivered(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  session.stopping.abort();
  assert.deepEqual(await session.ended, { kind: 'stopped' });
  assert.equal(messagesOf(session.log).length, 1);
  assert.deepEqual(getEventListeners(session.stopping.signal, 'abort'), []);
  assert.deepEqual(warnings, [], 'no timer was longer than timers can be');
});

test('a malformed line ends the replay with file and line number, after the messages before it', async (t) => {
  const path = fileOf(t, HEADER, lineOf(0), lineOf(0), '{"half a li', lineOf(0));
  const { session } = replay(t, path, 'max');
  assert.deepEqual(await session.ended, { kind: 'unusable', reason: `${path}, line 4: is not JSON` });
  assert.equal(messagesOf(session.log).length, 2);
});

test('a body beyond the limit is dropped as a broker’s is, and the messages after it arrive', async (t) => {
  const body = Buffer.alloc(100, 'a');
  const path = fileOf(t, HEADER, lineOf(0, { body }), lineOf(0, { body: body.subarray(1) }));
  const session = observeSession(t, createRecordingTransport(), {
    ...{ url: addressOf(`recording:${path}?speed=max`), bodyBytesMax: 99 },
  });
  assert.deepEqual(await session.ended, { kind: 'finished' });
  assert.deepEqual(
    messagesOf(session.log).map((message) => message.body?.length),
    [undefined, 99],
  );
});

test('a message that takes long to read and to deliver does both in turns of their own', async (t) => {
  let turn = 0;
  let eventRates = setImmediate(function next() {
    turn += 1;
    eventRates = setImmediate(next);
  });
  t.after(() => clearImmediate(eventRates));
  const turns: { readonly work: string; readonly turn: number }[] = [];
  const work = (what: string) => {
    turns.push({ work: what, turn });
    for (const since = performance.now(); performance.now() - since < 10; );
  };
  const path = fileOf(t, HEADER, lineOf(0), lineOf(0), lineOf(0));
  const parse = JSON.parse;
  t.mock.method(JSON, 'parse', (text: string) => {
    work('read');
    return parse(text);
  });
  const session = observeSession(t, createRecordingTransport(), {
    url: addressOf(`recording:${path}?speed=max`),
    deliver: () => work('deliver'),
  });
  assert.deepEqual(await session.ended, { kind: 'finished' });
  const messages = turns.slice(1);
  assert.deepEqual(
    messages.map((each) => each.work),
    Array(3).fill(['read', 'deliver']).flat(),
  );
  assert.equal(new Set(messages.map((each) => each.turn)).size, 6);
});

test('a file that is not a recording is unusable, with a reason', async (t) => {
  const unusable = async (path: string) => {
    const { session } = replay(t, path, 'max');
    const end = await session.ended;
    assert.deepEqual(session.log.items, []);
    return end.kind === 'unusable' ? end.reason.replace(path, 'FILE') : end.kind;
  };
  assert.equal(await unusable(fileOf(t)), 'FILE, line 1: is missing, the file is empty');
  assert.equal(await unusable(fileOf(t, 'hello')), 'FILE, line 1: is not JSON');
  assert.equal(await unusable(fileOf(t, HEADER, 'hello')), 'FILE, line 2: is not JSON');
  assert.equal(
    await unusable(fileOf(t, lineOf(0))),
    'FILE, line 1: is not the header of a celery-otel-recording',
  );
  assert.equal(await unusable(folder(t)), 'FILE is not a regular file');
  assert.match(await unusable(join(folder(t), 'none')), /^cannot read .*ENOENT/);
  const pipe = join(folder(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  assert.equal(await unusable(pipe), 'FILE is not a regular file');
});

/** Once every turn of the event loop, until the test is over. */
async function* pulses(t: TestContext): AsyncGenerator<void> {
  while (!t.signal.aborted) {
    await new Promise((resolve) => setImmediate(resolve));
    yield;
  }
}
