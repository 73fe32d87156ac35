/** Recording: what is written can be replayed, all of it, and a file that cannot be written is an error. */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRecorder } from '../../src/broker/recorder.ts';
import { createRecordingTransport } from '../../src/broker/recording.ts';
import { CeleryOtelError } from '../../src/errors.ts';
import { addressOf, messagesOf, observeSession } from './observed-session.ts';
import { MESSAGE } from './scripted-transport.ts';

const NOW_MS = Date.parse('2026-11-21T10:00:00Z');
const HEADER_LINE =
  '{"format":"celery-otel-recording","version":1,"recordedAt":"2026-11-21T10:00:00.000Z"}\n';

function begin(t: TestContext) {
  const path = mkdtempSync(join(tmpdir(), 'recorder-'));
  t.after(() => rmSync(path, { recursive: true }));
  const file = join(path, 'events.ndjson');
  const failures: CeleryOtelError[] = [];
  const recorder = openRecorder({ file, nowMs: NOW_MS, onFailure: (error) => failures.push(error) });
  t.after(() => recorder.close());
  return { file, recorder, failures };
}

test('a recording begins with its header, and can be read by its owner alone', (t) => {
  const { file } = begin(t);
  assert.equal(readFileSync(file, 'utf8'), HEADER_LINE);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a message is in the file after the turn in which it arrived', async (t) => {
  const { file, recorder } = begin(t);
  assert.deepEqual(recorder.write(MESSAGE), { ok: true });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 3);
});

test('what is pending does not grow without bound within one turn', (t) => {
  const { file, recorder } = begin(t);
  for (let written = 0; written < 100; written += 1)
    recorder.write({ ...MESSAGE, body: Buffer.alloc(50_000, 'a') });
  assert.ok(statSync(file).size > 3_900_000);
});

test('all that was written is replayed as it was', async (t) => {
  const { file, recorder, failures } = begin(t);
  const messages = Array.from({ length: 5000 }, (_, index) => ({
    ...MESSAGE,
    arrivedAtMs: NOW_MS + index,
    headers: { hostname: `w${index}@höst`, raw: Buffer.from([index % 256]) },
    body: Buffer.alloc(index, index % 256),
  }));
  for (const message of messages) recorder.write(message);
  assert.equal(recorder.count(), 5000);
  recorder.close();
  recorder.close();
  const session = observeSession(t, createRecordingTransport(), {
    url: addressOf(`recording:${file}?speed=max`),
  });
  assert.deepEqual(await session.ended, { kind: 'finished' });
  assert.deepEqual(messagesOf(session.log), messages);
  assert.deepEqual(failures, []);
});

test('a message that cannot be kept is refused with a reason, and the next is recorded', (t) => {
  const { file, recorder } = begin(t);
  assert.deepEqual(recorder.write({ ...MESSAGE, headers: { a: undefined } }), {
    ok: false,
    reason: 'headers hold a undefined',
  });
  recorder.write(MESSAGE);
  recorder.close();
  assert.equal(recorder.count(), 1);
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 3);
});

test('nothing is recorded after the end', (t) => {
  const { file, recorder } = begin(t);
  recorder.close();
  assert.deepEqual(recorder.write(MESSAGE), { ok: false, reason: 'the recording is closed' });
  assert.equal(readFileSync(file, 'utf8'), HEADER_LINE);
});

test('a file that cannot be created is an error with its code and the path', () => {
  assert.throws(
    () => openRecorder({ file: '/nowhere/at/all.ndjson', nowMs: NOW_MS, onFailure: assert.fail }),
    (error) => {
      assert.ok(error instanceof CeleryOtelError);
      assert.equal(error.code, 'RECORDING_UNWRITABLE');
      assert.match(error.message, /\/nowhere\/at\/all\.ndjson.*ENOENT/);
      return true;
    },
  );
});

test('a disk that is full from the beginning is an error too', () => {
  assert.throws(
    () => openRecorder({ file: '/dev/full', nowMs: NOW_MS, onFailure: assert.fail }),
    /RECORDING_UNWRITABLE.*ENOSPC/,
  );
});

test('a file that cannot be written any more is told once, and nothing is thrown', async (t) => {
  const { file, recorder, failures } = begin(t);
  // As a disk that fills up cannot be had here, its descriptor is closed under its feet.
  const descriptors = readdirSync('/proc/self/fd');
  closeSync(Number(descriptors.find((name) => linkOf(name) === file)));
  recorder.write(MESSAGE);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(recorder.write(MESSAGE), { ok: false, reason: 'the recording is closed' });
  recorder.close();
  assert.deepEqual(
    failures.map((error) => [error.code, error.message]),
    [['RECORDING_UNWRITABLE', `cannot write the recording ${file}: EBADF: bad file descriptor, write`]],
  );
});

function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // The one that the folder itself was read with is gone.
    return '';
  }
}
