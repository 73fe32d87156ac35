/** Programs that are forks of one Python run as they would by themselves, and none outlives whoever asked for it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { DEADLINE_MS } from '../deadline.ts';
import { forkToEnd, lendCelery } from './celery-forks.ts';
import { DEBIAN_PYTHON } from './install.ts';
import { isGroupAlive } from './server-process.ts';

let forks: Awaited<ReturnType<typeof lendCelery>>;
before(async () => {
  forks = await lendCelery([DEBIAN_PYTHON]);
});
after(() => forks.remove());

const run = (code: string, ...args: readonly string[]) =>
  forkToEnd(DEBIAN_PYTHON, { args: ['-c', code, ...args], env: { SHOP: 'é' }, cwd: '/' });

test('a fork has its own arguments, environment and folder, and what it prints and how it ends are its own', async () => {
  const code =
    'import os, sys; print(sys.argv[1:], dict(os.environ), os.getcwd(), os.getpid() == os.getpgrp())';
  assert.equal(await run(code, 'a b'), "['a b'] {'SHOP': 'é'} / True\n");
  await assert.rejects(run('import sys; print("why"); sys.exit(3)'), /: exit code 3\nwhy\n$/u);
  await assert.rejects(run('raise ValueError("no cup")'), /: exit code 1\n[\s\S]*ValueError: no cup/u);
  await assert.rejects(run('import os, signal; os.kill(os.getpid(), signal.SIGTERM)'), /: SIGTERM\n/u);
});

test('a fork of a process that is killed is killed with those it has started, and others can be forked', async (t) => {
  const sleep = 'import subprocess; subprocess.run(["sleep", "600"])';
  const asks = `import { fork } from ${JSON.stringify(import.meta.resolve('./celery-forks.ts'))};
    const files = { stdout: '/dev/null', stderr: '/dev/null' };
    const args = ['-c', ${JSON.stringify(sleep)}];
    console.log((await fork(${JSON.stringify(DEBIAN_PYTHON)}, { args, env: process.env, cwd: '/', ...files })).pid);`;
  const asking = spawn(process.execPath, ['--input-type=module', '--eval', asks], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => asking.kill('SIGKILL'));
  const { value: line } = await createInterface(asking.stdout)[Symbol.asyncIterator]().next();
  const pid = Number(line);
  assert.ok(pid > 1 && isGroupAlive(pid), `${line}`);
  asking.kill('SIGKILL');
  await t.waitFor(() => assert.equal(isGroupAlive(pid), false), { timeout: DEADLINE_MS });
  assert.equal(await run('print("goes on")'), 'goes on\n');
});

test('a Python that does not start leaves none behind', async () => {
  await assert.rejects(lendCelery(['/bin/false']), /ended \(exit code 1\)/u);
});
