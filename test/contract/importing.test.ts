/** Importing any of our files has no effect: no output, no timers, no handles. The detection itself is tested too. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { runChild } from './child.ts';
import { IMPORTING, type Imported } from './importing.ts';
import { ROOT, readSources } from './sources.ts';

/** The command's entry point is a program, which runs when it is loaded. */
const PROGRAM = 'cli/main.ts';

async function importAll(files: readonly string[]): Promise<Imported & { readonly stderr: string }> {
  const modules = files.map((file) => pathToFileURL(file).href);
  const args = ['--input-type=module', '--eval', IMPORTING, ...modules];
  const ended = await runChild(process.execPath, args, { cwd: ROOT, env: {}, timeoutMs: 20_000 });
  assert.equal(ended.code, 0, `the process did not end by itself\n${ended.stderr}`);
  // One line: a module with output makes this fail.
  const imported: Imported = JSON.parse(ended.stdout);
  return { ...imported, stderr: ended.stderr };
}

test('importing any source file has no effect', async () => {
  const files = readSources().map((source) => source.path);
  assert.ok(files.includes(PROGRAM));
  const imported = await importAll(
    files.filter((file) => file !== PROGRAM).map((file) => path.join(ROOT, 'src', file)),
  );
  assert.ok(imported.names.includes('createBridge'));
  assert.deepEqual({ ...imported, names: [] }, { names: [], handles: [], timers: [], stderr: '' });
});

test('creating a bridge does not load a logger', async () => {
  const bridge = pathToFileURL(path.join(ROOT, 'src/bridge/bridge.ts')).href;
  const script = `import { createRequire } from 'node:module';
    await import('${bridge}');
    console.log(Object.keys(createRequire(import.meta.url).cache).filter((file) => /[/]pino/u.test(file)).length);`;
  const args = ['--input-type=module', '--eval', script];
  const ended = await runChild(process.execPath, args, { cwd: ROOT, env: {}, timeoutMs: 20_000 });
  assert.equal(ended.stdout, '0\n', ended.stderr);
});

function writeModule(t: TestContext, text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'importing-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'sample.mjs');
  writeFileSync(file, text);
  return file;
}

test('a started timer is detected, even an unreferenced one', async (t) => {
  const imported = await importAll([
    writeModule(t, 'setInterval(() => {}, 1000).unref(); export const a = 1;'),
  ]);
  assert.deepEqual(imported.names, ['a']);
  assert.match(imported.timers.join(), /^setInterval .*sample\.mjs:1/);
});

test('a handle that keeps the process alive is detected', async (t) => {
  const text = `import net from 'node:net';
    const server = net.createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    setTimeout(() => server.close(), 200);`;
  const imported = await importAll([writeModule(t, text)]);
  assert.ok(imported.handles.includes('TCPServerWrap'), imported.handles.join());
});

test('output is detected', async (t) => {
  await assert.rejects(importAll([writeModule(t, `console.log('hello');`)]), SyntaxError);
});
