import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openRecorder, type Recorder, type RecorderOptions } from '../../src/broker/recording/recorder.ts';
import { runCommandLine } from '../../src/cli/commands.ts';
import { record } from '../../src/cli/record.ts';
import { CeleryOtelError } from '../../src/text/errors.ts';
import { processIo } from './process-io.ts';

const FIRST_AT_MS = Date.UTC(2026, 0, 1);

/** A folder with a recording of three messages, ten minutes apart, as the source. */
function recordedFolder(t: TestContext): { source: string; out: string } {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-record-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const source = join(folder, 'source.ndjson');
  const recorder = openRecorder({
    file: source,
    replace: false,
    nowMs: FIRST_AT_MS,
    onFailure: assert.ifError,
  });
  for (const minute of [0, 10, 20]) {
    recorder.write({
      arrivedAtMs: FIRST_AT_MS + minute * 60_000,
      exchange: 'celeryev',
      routingKey: 'task.sent',
      contentType: 'application/json',
      contentEncoding: 'utf-8',
      headers: { hostname: 'w1@host' },
      body: Buffer.from(JSON.stringify({ minute })),
    });
  }
  recorder.close();
  return { source, out: join(folder, 'out.ndjson') };
}

/** The messages of a recording, without its header. */
function lines(file: string): string[] {
  return readFileSync(file, 'utf8').trim().split('\n').slice(1);
}

/** Resolves once the file holds as many messages. */
async function untilHolds(file: string, count: number): Promise<void> {
  while (!existsSync(file) || lines(file).length < count) await new Promise(setImmediate);
}

test('record writes every message, prints how many, and ends with the source', async (t) => {
  const { source, out } = recordedFolder(t);
  const { io, stdout } = processIo({
    CELERY_BROKER_URL: `recording:${source}?speed=max`,
    LOG_LEVEL: 'silent',
  });
  assert.equal(await record(['--out', out], io), 0);
  assert.deepEqual(lines(out), lines(source));
  assert.equal(stdout(), `3 messages are in ${out}\n`);
});

test('a signal ends a recording with all arrived messages in the file', async (t) => {
  const { source, out } = recordedFolder(t);
  const { io, stdout, send } = processIo({ CELERY_BROKER_URL: `recording:${source}`, LOG_LEVEL: 'silent' });
  const code = record(['--out', out], io);
  await untilHolds(out, 1);
  send('SIGINT');
  assert.equal(await code, 0);
  assert.deepEqual(lines(out), lines(source).slice(0, 1));
  assert.equal(stdout(), `1 messages are in ${out}\n`);
});

test('an existing file is kept unless --force is given', async (t) => {
  const { source, out } = recordedFolder(t);
  writeFileSync(out, 'precious');
  const env = { CELERY_BROKER_URL: `recording:${source}?speed=max`, LOG_LEVEL: 'silent' };
  const refused = processIo(env);
  assert.equal(await record(['--out', out], refused.io), 78);
  assert.match(
    refused.stderr(),
    /out \(--out\) is ".*": expected a file that does not exist yet, or --force\n/,
  );
  assert.equal(refused.stdout(), '');
  assert.equal(readFileSync(out, 'utf8'), 'precious');
  assert.equal(await record(['--out', out, '--force'], processIo(env).io), 0);
  assert.deepEqual(lines(out), lines(source));
});

test('a link is not followed, and without --force it is an error with a remedy', async (t) => {
  const { source, out } = recordedFolder(t);
  const target = `${out}.target`;
  symlinkSync(target, out);
  const env = { CELERY_BROKER_URL: `recording:${source}?speed=max`, LOG_LEVEL: 'silent' };
  const refused = processIo(env);
  assert.equal(await runCommandLine(['record', '--out', out], refused.io), 1);
  assert.match(refused.stderr(), /^celery-otel: the file \/.*out\.ndjson already exists\n.*`--force`\.\n$/u);
  assert.equal(await runCommandLine(['record', '--out', out, '--force'], processIo(env).io), 0);
  assert.deepEqual(lines(out), lines(source));
  assert.ok(!existsSync(target));
});

test('control characters in a path are escaped', async (t) => {
  const { source, out } = recordedFolder(t);
  const env = { CELERY_BROKER_URL: `recording:${source}?speed=max`, LOG_LEVEL: 'silent' };
  const hostile = `${out}\u001b[2K\n0 messages\u202e`;
  const shown = `${out}\\u001b[2K\\u000a0 messages\\u202e`;
  const { io, stdout } = processIo(env);
  assert.equal(await runCommandLine(['record', '--out', hostile], io), 0);
  assert.equal(stdout(), `3 messages are in ${shown}\n`);
  const failing = processIo(env);
  assert.equal(await runCommandLine(['record', '--out', join(hostile, 'below')], failing.io), 1);
  assert.equal(failing.stderr().split('\n').length, 3);
  assert.ok(failing.stderr().startsWith(`celery-otel: cannot write the recording ${shown}/below: ENOTDIR`));
});

test('an unusable broker ends a recording with exit code 1', async (t) => {
  const { source, out } = recordedFolder(t);
  const { io, stderr } = processIo({ CELERY_BROKER_URL: `recording:${source}.missing` });
  assert.equal(await record(['--out', out], io), 1);
  assert.match(stderr(), /"level":"error"/);
});

test('a full disk ends a recording with one error, and later messages log nothing', async (t) => {
  const { source, out } = recordedFolder(t);
  const { io, stderr, stdout } = processIo({ CELERY_BROKER_URL: `recording:${source}?speed=max` });
  const full = new CeleryOtelError('RECORDING_UNWRITABLE', 'no space left');
  let closed = 0;
  const openFailing = ({ onFailure }: RecorderOptions): Recorder => ({
    write() {
      onFailure(full);
      return { ok: false, reason: 'the recording is closed' };
    },
    count: () => 0,
    close() {
      closed += 1;
    },
  });
  await assert.rejects(record(['--out', out], io, openFailing), full);
  assert.equal(closed, 1);
  assert.equal(stdout(), '');
  assert.doesNotMatch(stderr(), /unrecordable/);
});

test('a message that cannot be encoded is logged, and the others are recorded', async (t) => {
  const { source, out } = recordedFolder(t);
  const { io, stderr, stdout } = processIo({ CELERY_BROKER_URL: `recording:${source}?speed=max` });
  const openPicky = (options: RecorderOptions): Recorder => {
    const recorder = openRecorder(options);
    return {
      write: (message) =>
        message.body?.includes('10') === true
          ? { ok: false, reason: 'has a strange header' }
          : recorder.write(message),
      count: () => recorder.count(),
      close: () => recorder.close(),
    };
  };
  assert.equal(await record(['--out', out], io, openPicky), 0);
  assert.equal(stdout(), `2 messages are in ${out}, 1 could not be recorded\n`);
  assert.match(stderr(), /unrecordable \(has a strange header\)/);
});
