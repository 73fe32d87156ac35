/** Untrusted text in the output of commands neither controls the terminal nor forges lines. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { runCommandLine } from '../../src/cli/commands.ts';
import { HOSTILE, HOSTILE_SHOWN, UNPRINTABLE } from '../hostile-text.ts';
import { processIo } from './process-io.ts';

/** No file has NUL in its path, nor half a character. */
const HOSTILE_PATH = HOSTILE.replaceAll(/[\0\ud800]/gu, '');

async function outputOf(argv: readonly string[], env = {}): Promise<string> {
  const { io, stdout, stderr } = processIo(env);
  await runCommandLine(argv, io);
  return `${stdout()}${stderr()}`;
}

function assertShown(output: string, lines: number): void {
  const shown = output.split('\n');
  assert.equal(shown.length, lines + 1, output);
  for (const line of shown) assert.doesNotMatch(line, UNPRINTABLE);
  assert.match(output, /\\u202egnp/u);
}

function file(t: TestContext, text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'hostile-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const name = path.join(folder, HOSTILE_PATH.replaceAll('/', ''));
  writeFileSync(name, text);
  return name;
}

test('each mistake in options is one line', async () => {
  const env = {
    CELERY_BROKER_URL: HOSTILE,
    OTEL_SERVICE_NAME: HOSTILE,
    CELERY_OTEL_TASKS_MAX: HOSTILE,
    [`CELERY_OTEL_${HOSTILE}`]: '1',
  };
  assertShown(await outputOf(['run', '--log-level', HOSTILE], env), 7);
});

test('each mistake in a configuration file is one line, whatever its path and keys', async (t) => {
  const text = JSON.stringify({ file_format: '1.0', celery: { [HOSTILE]: 1 }, log_level: HOSTILE });
  const output = await outputOf(['config', '--config', file(t, text)]);
  assertShown(output, output.split('\n').length - 1);
  for (const line of output.trimEnd().split('\n')) assert.match(line, /^(?:celery-otel run| {2}\S|Try: )/u);
});

test('each value of a configuration is one line', async () => {
  const output = await outputOf(['config', '--service-name', 'shop', '--all'], {
    CELERY_BROKER_URL: 'amqp://h',
    OTEL_RESOURCE_ATTRIBUTES: `a=${encodeURIComponent(HOSTILE.replace('\ud800', ''))}`,
  });
  assertShown(output, output.split('\n').length - 1);
  for (const line of output.trimEnd().split('\n')) assert.match(line, /^\S+: .* # [\w-]+$/u);
});

test('an unexpected error prints its stack only', async () => {
  const { io, stderr } = processIo();
  io.stdout.write = () => {
    throw new TypeError(`${HOSTILE}\n    at forged`);
  };
  assert.equal(await runCommandLine(['version'], io), 1);
  const [first, ...others] = stderr().trimEnd().split('\n');
  assert.equal(first, `celery-otel: unexpected error: TypeError: ${HOSTILE_SHOWN}\\u000a    at forged`);
  assert.ok(others.length > 0);
  for (const line of others) assert.match(line, /^ {4}at .*:\d+:\d+\)?$/u);
});

test('all commands print through this module', () => {
  const folder = path.resolve(import.meta.dirname, '../../src/cli');
  // The log escapes its lines itself; the entry point exits at once and may run on an unsupported Node; what a view draws was
  // escaped where its lines were made (src/top/cells.ts).
  const exceptions = ['print.ts', 'main.ts', 'terminal.ts'];
  const others = readdirSync(folder).filter((name) => !exceptions.includes(name));
  for (const name of others) {
    assert.doesNotMatch(
      readFileSync(path.join(folder, name), 'utf8'),
      /(?:stdout|stderr|stream)\.write|console\./u,
      name,
    );
  }
});
