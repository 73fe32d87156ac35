/** The command as the first process of a container, which the kernel spares from signals that it does not listen to. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DEADLINE_MS } from '../deadline.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** With process ids of its own. */
const NAMESPACE = ['--pid', '--fork', '--kill-child'];

/** Stands in for the commands: as if they were still being loaded. */
const COMMANDS = `export function runCommandLine() {
  console.log('loading');
  setInterval(() => {}, 1000);
  return new Promise(() => {});
}`;
const HOOK = `import { registerHooks } from 'node:module';
registerHooks({
  resolve: (name, context, next) => name.endsWith('/commands.ts')
    ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(COMMANDS)}`)}, shortCircuit: true }
    : next(name, context),
});`;

test('a signal that arrives before it listens ends it, as it would any other process', {
  skip: process.getuid?.() !== 0 && 'namespaces need root',
}, async (t) => {
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`;
  const child = spawn('unshare', [...NAMESPACE, process.execPath, '--import', hook, MAIN, 'run'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const closed = once(child, 'close', { signal });
  await once(child.stdout, 'data', { signal });
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  process.kill(Number(children), 'SIGTERM');
  const [code] = await closed;
  assert.equal(code, 128 + 15);
});
