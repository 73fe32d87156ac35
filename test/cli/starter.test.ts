import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { isSetApart, npmOf, watchStarter } from '../../src/cli/starter.ts';
import { processIo } from './process-io.ts';

const SCRIPT = { npm_lifecycle_event: 'start' };

/** How often the end of the parent was noticed, in a minute. */
function noticed(
  t: TestContext,
  { io, ...ends }: ReturnType<typeof processIo>,
  how: 'orphan' | 'killNpm' = 'orphan',
): number {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let times = 0;
  const stop = watchStarter(io, () => {
    times += 1;
  });
  t.mock.timers.tick(30_000);
  assert.equal(times, 0, 'it is there');
  ends[how]();
  t.mock.timers.tick(30_000);
  stop();
  t.mock.timers.reset();
  return times;
}

test('the end of npm’s script shell is noticed once', (t) => {
  assert.equal(noticed(t, processIo(SCRIPT)), 1);
  for (const script of ['celery-otel run --config nohup.yaml', 'my-nohup x; celery-otel run']) {
    assert.equal(noticed(t, processIo({ ...SCRIPT, npm_lifecycle_script: script })), 1, script);
  }
});

test('the end of npm is noticed even if its shell still runs', (t) => {
  assert.equal(noticed(t, processIo(SCRIPT), 'killNpm'), 1);
  assert.equal(noticed(t, processIo({}), 'killNpm'), 0);
});

test('a process that is meant to outlive its parent is not watched', (t) => {
  assert.equal(noticed(t, processIo({})), 0, 'of a shell, under nohup or not');
  assert.equal(noticed(t, processIo({ npm_lifecycle_event: '' })), 0);
  for (const script of [
    'nohup celery-otel run >log 2>&1 &',
    'cd bridge && /usr/bin/nohup celery-otel run &',
  ]) {
    assert.equal(noticed(t, processIo({ ...SCRIPT, npm_lifecycle_script: script })), 0, script);
  }
  assert.equal(noticed(t, processIo(SCRIPT, { setApart: true })), 0, 'setsid, or spawned detached');
  assert.equal(noticed(t, processIo(SCRIPT, { starterId: 1 })), 0, 'as in a container');
});

test('nothing is reported after the watch has ended', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { io, orphan } = processIo(SCRIPT);
  const stop = watchStarter(io, () => assert.fail('told'));
  stop();
  orphan();
  t.mock.timers.tick(10_000);
});

const STARTER = new URL('../../src/cli/starter.ts', import.meta.url).href;

for (const detached of [false, true]) {
  test(`a process that was spawned ${detached ? 'detached is' : 'as usual is not'} in its own process group`, async () => {
    const script = `import { isSetApart } from ${JSON.stringify(STARTER)}; process.stdout.write(String(isSetApart()));`;
    const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', script], {
      detached,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.equal(await text(child.stdout), String(detached && process.platform === 'linux'));
  });
}

test('the process group is found for any process name; without /proc it is not', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-starter-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const stat = (line: string) => {
    writeFileSync(join(folder, 'stat'), line);
    return isSetApart(join(folder, 'stat'));
  };
  assert.equal(stat('42 (a) 1 42) R 7 42 7 0 -1'), true);
  assert.equal(stat('42 (a (b) c) S 42 7 42 0 -1'), false);
  assert.equal(stat(''), false);
  assert.equal(isSetApart(join(folder, 'none')), false);
});

test('npm is found only as the parent of the shell that runs the script', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-starter-'));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, '42'));
  writeFileSync(join(folder, '42/stat'), '42 (a (b) c) S 41 7 42 0 -1');
  writeFileSync(join(folder, '42/cmdline'), 'sh\0-c\0celery-otel run --quiet\0');
  assert.equal(npmOf(42, 'celery-otel run', folder), 41);
  assert.equal(npmOf(42, 'celery-otel record', folder), undefined);
  assert.equal(npmOf(42, '', folder), undefined);
  assert.equal(npmOf(42, undefined, folder), undefined);
  assert.equal(npmOf(43, 'celery-otel run', folder), undefined);
  // npm itself, whose process title is its command line.
  writeFileSync(join(folder, '42/cmdline'), 'npm run celery-otel\0\0');
  assert.equal(npmOf(42, 'celery-otel', folder), undefined);
});
