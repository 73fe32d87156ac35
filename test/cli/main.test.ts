import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runInProcess } from './process-io.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** Really runs the command, with no environment but the one given. */
function celeryOtel(argv: readonly string[], env: Record<string, string> = {}) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    }
    child.on('error', reject).on('close', (code) => resolve({ code, ...output }));
  });
}

test('help is printed to its end, and a mistake exits with 78', async () => {
  const [help, mistake] = await Promise.all([celeryOtel(['--help']), celeryOtel(['rnu'])]);
  assert.deepEqual(help, await runInProcess(['--help']));
  assert.deepEqual(mistake, await runInProcess(['rnu']));
});

test('a closed pipe does not crash it', async () => {
  for (const argv of [['--help'], ['nonsense']]) {
    const child = spawn(process.execPath, [MAIN, ...argv], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    child.stderr.destroy();
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('exit', resolve));
    assert.equal(code, argv[0] === '--help' ? 0 : 78);
  }
});
