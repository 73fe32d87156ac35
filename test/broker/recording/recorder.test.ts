/** Recording: everything written can be replayed, and an unwritable file is an error. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, {
  closeSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRecorder } from '../../../src/broker/recording/recorder.ts';
import { createRecordingTransport } from '../../../src/broker/recording/transport.ts';
import { CeleryOtelError } from '../../../src/text/errors.ts';
import { until } from '../../until.ts';
import { addressOf, messagesOf, observeSession } from '../observed-session.ts';
import { MESSAGE } from '../scripted-transport.ts';

const NOW_MS = Date.parse('2026-11-21T10:00:00Z');
const HEADER_LINE =
  '{"format":"celery-otel-recording","version":1,"recordedAt":"2026-11-21T10:00:00.000Z"}\n';

/** Of a new file, which can be written. */
const OPTIONS = { replace: false, nowMs: NOW_MS, onFailure: assert.fail };

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'recorder-'));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
}

function isExists(error: unknown): true {
  assert.ok(error instanceof CeleryOtelError);
  assert.equal(error.code, 'RECORDING_EXISTS');
  assert.match(error.hint, /--force/u);
  return true;
}

function begin(t: TestContext) {
  const file = path.join(folder(t), 'events.ndjson');
  const failures: CeleryOtelError[] = [];
  const recorder = openRecorder({ ...OPTIONS, file, onFailure: (error) => failures.push(error) });
  t.after(() => recorder.close());
  return { file, recorder, failures };
}

test('a recording begins with its header, and only its owner can read it', (t) => {
  const { file } = begin(t);
  assert.equal(readFileSync(file, 'utf8'), HEADER_LINE);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a message is in the file after the event loop turn in which it arrived', async (t) => {
  const { file, recorder } = begin(t);
  assert.deepEqual(recorder.write(MESSAGE), { ok: true });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 3);
});

test('pending messages are bounded within one turn', (t) => {
  const { file, recorder } = begin(t);
  for (let written = 0; written < 100; written += 1)
    recorder.write({ ...MESSAGE, body: Buffer.alloc(50_000, 'a') });
  assert.ok(statSync(file).size > 3_900_000);
});

test('everything that was written is replayed unchanged, and what cannot be is refused with a reason', async (t) => {
  const { file, recorder, failures } = begin(t);
  const messages = Array.from({ length: 5000 }, (_, index) => ({
    ...MESSAGE,
    arrivedAtMs: NOW_MS + index,
    headers: { hostname: `w${index}@höst`, index },
    body: Buffer.alloc(index, index % 256),
  }));
  for (const message of messages) recorder.write(message);
  const incomplete = recorder.write({ ...MESSAGE, headers: undefined });
  assert.deepEqual(incomplete, { ok: false, reason: 'its headers cannot be decoded' });
  assert.equal(recorder.count(), 5000);
  recorder.close();
  recorder.close();
  assert.deepEqual(recorder.write(MESSAGE), { ok: false, reason: 'the recording is closed' });
  const session = observeSession(t, createRecordingTransport(), {
    url: addressOf(`recording:${file}?speed=max`),
  });
  assert.deepEqual(await session.ended, { kind: 'finished' });
  assert.deepEqual(messagesOf(session.log), messages);
  assert.deepEqual(failures, []);
});

test('a file that cannot be created is an error with a code and the path', () => {
  assert.throws(
    () => openRecorder({ ...OPTIONS, file: '/nowhere/at/all.ndjson' }),
    (error) => {
      assert.ok(error instanceof CeleryOtelError);
      assert.equal(error.code, 'RECORDING_UNWRITABLE');
      assert.match(error.message, /\/nowhere\/at\/all\.ndjson.*ENOENT/);
      return true;
    },
  );
});

test('an existing file is an error that names the remedy, and stays unchanged', (t) => {
  const file = path.join(folder(t), 'events.ndjson');
  writeFileSync(file, 'precious', { mode: 0o644 });
  assert.throws(() => openRecorder({ ...OPTIONS, file }), isExists);
  assert.equal(readFileSync(file, 'utf8'), 'precious');
});

test('links are not followed, whether they are dangling or not', (t) => {
  const at = folder(t);
  const [file, target] = [path.join(at, 'events.ndjson'), path.join(at, 'target')];
  symlinkSync(target, file);
  assert.throws(() => openRecorder({ ...OPTIONS, file }), isExists);
  assert.deepEqual(readdirSync(at), ['events.ndjson']);
  writeFileSync(target, 'precious');
  assert.throws(() => openRecorder({ ...OPTIONS, file }), isExists);
  openRecorder({ ...OPTIONS, file, replace: true }).close();
  assert.equal(readFileSync(target, 'utf8'), 'precious');
  assert.ok(lstatSync(file).isFile());
});

test('a replaced file is a new one, which only its owner can read', (t) => {
  const at = folder(t);
  const file = path.join(at, 'events.ndjson');
  writeFileSync(file, 'everybody may read this', { mode: 0o644 });
  const reader = openSync(file, 'r');
  t.after(() => closeSync(reader));
  const recorder = openRecorder({ ...OPTIONS, file, replace: true });
  recorder.write(MESSAGE);
  // The file has its final name from the start, so a killed process leaves it there.
  assert.equal(readFileSync(file, 'utf8'), HEADER_LINE);
  recorder.close();
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 3);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(
    readFileSync(reader, 'utf8'),
    'everybody may read this',
    'whoever has it open reads the former',
  );
  assert.deepEqual(readdirSync(at), ['events.ndjson']);
});

test('a file to replace need not exist', (t) => {
  const file = path.join(folder(t), 'events.ndjson');
  openRecorder({ ...OPTIONS, file, replace: true }).close();
  assert.equal(readFileSync(file, 'utf8'), HEADER_LINE);
});

test('only a regular file is replaced', (t) => {
  const at = folder(t);
  const pipe = path.join(at, 'pipe');
  execFileSync('mkfifo', [pipe]);
  for (const file of [pipe, at]) {
    assert.throws(
      () => openRecorder({ ...OPTIONS, file, replace: true }),
      /RECORDING_UNWRITABLE.*it is not a regular file/,
    );
  }
  assert.ok(statSync(pipe).isFIFO());
  assert.deepEqual(readdirSync(at), ['pipe']);
});

test('a full disk at the start is an error too, and leaves the existing file unchanged', (t) => {
  const at = folder(t);
  const [file, former] = [path.join(at, 'events.ndjson'), path.join(at, 'former')];
  writeFileSync(former, 'precious');
  t.mock.method(fs, 'writeSync', () => {
    throw new Error('ENOSPC: no space left on device, write');
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.throws(() => openRecorder({ ...OPTIONS, file }), /RECORDING_UNWRITABLE.*ENOSPC/);
  assert.throws(
    () => openRecorder({ ...OPTIONS, file: former, replace: true }),
    /RECORDING_UNWRITABLE.*ENOSPC/,
  );
  assert.deepEqual(readdirSync(at), ['former']);
  assert.equal(readFileSync(former, 'utf8'), 'precious');
});

test('a failed write is reported once, and nothing is thrown', async (t) => {
  const { file, recorder, failures } = begin(t);
  // A full disk cannot be simulated here, so the file descriptor becomes one that only reads.
  const descriptors = readdirSync('/proc/self/fd');
  makeReadOnly(Number(descriptors.find((name) => linkOf(name) === file)));
  recorder.write(MESSAGE);
  await until('the write has failed', () => failures.length > 0);
  assert.deepEqual(recorder.write(MESSAGE), { ok: false, reason: 'the recording is closed' });
  recorder.close();
  assert.deepEqual(
    failures.map((error) => [error.code, error.message]),
    [['RECORDING_UNWRITABLE', `cannot write the recording ${file}: EBADF: bad file descriptor, write`]],
  );
});

/** Its number stays in use: the recorder closes it, and must not close what somebody else has opened in between. */
function makeReadOnly(descriptor: number): void {
  closeSync(descriptor);
  const lower: number[] = [];
  for (let opened = openSync('/dev/null', 'r'); opened !== descriptor; opened = openSync('/dev/null', 'r'))
    lower.push(opened);
  for (const each of lower) closeSync(each);
}

function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // Except the descriptor with which the folder itself was read.
    return '';
  }
}
