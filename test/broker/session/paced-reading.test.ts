import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { paceReading, type ReadingObserver } from '../../../src/broker/session/paced-reading.ts';
import { createYieldToLoop, runCooperatively } from '../../../src/timing/cooperative.ts';

const NO_OBSERVER: ReadingObserver = { onRead: () => {}, takesMore: () => true };

const CHUNK_MS = 4;

/** A stream with that many chunks available, read as amqplib reads: until null, and again on 'readable'. */
function readingOf(t: TestContext, chunks: number) {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const stream = new Readable({ objectMode: true, highWaterMark: chunks, read() {} });
  const seen: number[] = [];
  stream.on('readable', () => {
    for (let chunk: unknown = stream.read(); chunk !== null; chunk = stream.read()) {
      seen.push(Number(chunk));
      nowMs += CHUNK_MS;
    }
  });
  const push = (): void => {
    for (let index = 0; index < chunks; index += 1) stream.push(index);
  };
  return { stream, seen, push };
}

test('in a flood, each turn reads as much as its time allows, and everything is read in order', async (t) => {
  const { stream, seen, push } = readingOf(t, 20);
  paceReading(stream, NO_OBSERVER);
  push();
  stream.push(null);
  const perTurn: number[] = [];
  const ended = once(stream, 'end');
  while (seen.length < 20) {
    const before = seen.length;
    await nextTurn();
    perTurn.push(seen.length - before);
  }
  await ended;
  assert.deepEqual(seen, [...Array(20).keys()]);
  // The third read begins before the time is over; some turns have reads of two.
  assert.ok(Math.max(...perTurn) <= 6, perTurn.join(' '));
  assert.ok(perTurn.length >= 3, perTurn.join(' '));
});

test('a slow stream is read at once', async (t) => {
  const { stream, seen, push } = readingOf(t, 2);
  paceReading(stream, NO_OBSERVER);
  push();
  await nextTurn();
  assert.deepEqual(seen, [0, 1]);
  push();
  await nextTurn();
  assert.deepEqual(seen, [0, 1, 0, 1]);
});

test('a stream destroyed while its reader is paused delivers nothing more', async (t) => {
  const { stream, seen, push } = readingOf(t, 20);
  paceReading(stream, NO_OBSERVER);
  let calls = 0;
  stream.on('readable', () => {
    calls += 1;
    stream.destroy();
  });
  push();
  await once(stream, 'close');
  const { length } = seen;
  assert.ok(length < 20);
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  assert.deepEqual([seen.length, calls], [length, 1]);
});

test('data that is put back comes first again, and meanwhile the buffer stays within its limit', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  let sent = 0;
  const stream = new Readable({
    read(bytes) {
      this.push(Uint8Array.from({ length: bytes }, () => sent++ % 251));
    },
  });
  const hasTime = paceReading(stream, NO_OBSERVER);
  let [seen, inOrder, mostBytes] = [0, true, 0];
  stream.on('readable', () => {
    for (let chunk: unknown = stream.read(); chunk instanceof Uint8Array; chunk = stream.read()) {
      let at = 0;
      for (; at < chunk.length && hasTime(); at += 1) {
        inOrder &&= chunk[at] === seen % 251;
        seen += 1;
        nowMs += CHUNK_MS;
      }
      if (at < chunk.length) stream.unshift(chunk.subarray(at));
      mostBytes = Math.max(mostBytes, stream.readableLength);
    }
  });
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
  stream.destroy();
  assert.ok(seen >= 100 && inOrder, `${seen} bytes`);
  assert.ok(mostBytes <= 4 * 64 * 1024, `${mostBytes} bytes`);
});

test('the start of each chunk is always read, however little time there is', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const stream = new Readable({ read() {} });
  const hasTime = paceReading(stream, NO_OBSERVER);
  stream.push(Buffer.alloc(100));
  assert.ok(stream.read() !== null);
  nowMs += 1000;
  assert.deepEqual([hasTime(), hasTime()], [true, false]);
  stream.destroy();
});

/** The time spent in other work and in reading each of these endless streams, ms. */
async function sharedTime(t: TestContext, streams: number, workMs: number) {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const readMs = Array<number>(streams).fill(0);
  const flooded = readMs.map((_, index) => {
    const stream = new Readable({
      objectMode: true,
      read() {
        this.push('chunk');
      },
    });
    paceReading(stream, NO_OBSERVER);
    return stream.on('readable', () => {
      while (stream.read() !== null) {
        nowMs += CHUNK_MS;
        readMs[index] = (readMs[index] ?? 0) + CHUNK_MS;
      }
    });
  });
  function* steps(): Generator<undefined, void> {
    for (let worked = 0; worked < workMs; worked += 1) {
      nowMs += 1;
      yield;
    }
  }
  // All of them are being read.
  for (let turn = 0; turn < 2 * streams; turn += 1) await nextTurn();
  readMs.fill(0);
  const beganMs = nowMs;
  await runCooperatively(createYieldToLoop(), steps());
  for (const stream of flooded) stream.destroy();
  return { tookMs: nowMs - beganMs, readMs };
}

for (const streams of [1, 4, 20]) {
  test(`with ${streams} flooded streams, other work and each stream get their share of the time`, async (t) => {
    const workMs = 1000;
    const { tookMs, readMs } = await sharedTime(t, streams, workMs);
    assert.ok(workMs / tookMs > 0.4, `${workMs} of ${tookMs} ms`);
    const [least, most] = [Math.min(...readMs), Math.max(...readMs)];
    assert.ok(least > 0 && most <= least + 3 * CHUNK_MS, `${least} to ${most} ms of reading each`);
  });
}
