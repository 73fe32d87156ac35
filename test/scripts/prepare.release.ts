/** Installation from a clone or from git, in a project with a fake `npm` and a fake build. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { runChild } from '../contract/child.ts';
import { DEADLINE_MS } from '../deadline.ts';

const PREPARE = path.resolve(import.meta.dirname, '../../scripts/prepare.mjs');
const TELL = '$@ $npm_config_global $npm_config_location $npm_config_cache';
const PRETENDED_NPM = `#!/bin/sh\necho "${TELL}" >> calls\nexit \${NPM_ENDS:-0}\n`;
const PRETENDED_BUILD = `
import { appendFileSync } from 'node:fs';
appendFileSync('calls', 'build ' + (process.env.npm_config_global ?? '') + '\\n');
`;
/** The environment of `npm install --global`. */
const GLOBAL = { npm_config_global: 'true', npm_config_location: 'global', npm_config_cache: '/cache' };

/** Its exit code, and its calls. */
async function prepare(t: TestContext, env: NodeJS.ProcessEnv, packages: readonly string[] = []) {
  const folder = mkdtempSync(path.join(tmpdir(), 'prepare-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = (name: string) => path.join(folder, name);
  for (const name of ['scripts', 'bin', ...packages]) mkdirSync(file(name), { recursive: true });
  cpSync(PREPARE, file('scripts/prepare.mjs'));
  writeFileSync(file('scripts/build.mjs'), PRETENDED_BUILD);
  writeFileSync(file('bin/npm'), PRETENDED_NPM);
  chmodSync(file('bin/npm'), 0o755);
  const PATH = `${file('bin')}:${process.env['PATH']}`;
  const { code, stderr } = await runChild(process.execPath, [file('scripts/prepare.mjs')], {
    cwd: folder,
    env: { PATH, ...env },
    timeoutMs: DEADLINE_MS,
  });
  const calls = existsSync(file('calls')) ? readFileSync(file('calls'), 'utf8').split('\n') : [];
  return { code, stderr, calls: calls.map((line) => line.trim()).filter(Boolean) };
}

test('a global installation installs the dependencies into the folder and builds', async (t) => {
  const { code, stderr, calls } = await prepare(t, GLOBAL);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.match(calls[0] ?? '', /^ci --include=dev --ignore-scripts .*--no-fund +\/cache$/u);
  assert.deepEqual(calls.slice(1), ['build']);
});

test('if npm has installed the dependencies, it only builds', async (t) => {
  const fetched = await prepare(t, {}, ['node_modules/typescript']);
  assert.deepEqual(fetched, { code: 0, stderr: '', calls: ['build'] });
});

test('a script of a clone builds nothing', async (t) => {
  const ended = await prepare(t, { INSTALLING_CELERY_OTEL: '1' });
  assert.deepEqual(ended, { code: 0, stderr: '', calls: [] });
});

test('if the dependencies cannot be installed, nothing is built and the installation fails', async (t) => {
  const { code, calls } = await prepare(t, { NPM_ENDS: '7' });
  assert.equal(code, 7);
  assert.equal(calls.length, 1);
});

test('an npm that cannot install globally from git fails with a hint of what works', async (t) => {
  const { code, stderr, calls } = await prepare(t, { ...GLOBAL, _PACOTE_NO_PREPARE_: 'git+file:///clone' });
  assert.equal(code, 1);
  assert.match(stderr, /npm install --global "\$\(npm pack/u);
  assert.deepEqual(calls, []);
});
