/** ioredis is only loaded when it is needed, and does not slow down strings for the whole process. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** V8 has two forms of objects: in the slow one, each property is looked up in a dictionary. */
const PROGRAM = `
  import { createRequire } from 'node:module';
  const areStringsFast = new Function('return %HasFastProperties(String.prototype)');
  const { cache } = createRequire(import.meta.url);
  const isLoaded = () => Object.keys(cache).some((path) => path.includes('/ioredis/'));
  const { createBridge } = await import(process.argv[1]);
  const before = [typeof createBridge, isLoaded(), areStringsFast()];
  const { loadClientLibrary } = await import(process.argv[2]);
  const { Redis } = await loadClientLibrary();
  console.log(JSON.stringify([...before, typeof Redis, isLoaded(), areStringsFast()]));
`;

test('a process without Redis does not load its client; with it, the methods of strings stay fast', () => {
  const paths = ['src/index.ts', 'src/broker/redis/client-library.ts'].map((path) =>
    fileURLToPath(new URL(`../../../${path}`, import.meta.url)),
  );
  const args = ['--allow-natives-syntax', '--input-type=module', '--eval', PROGRAM, ...paths];
  const [before, after] = chunked(JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })));
  assert.deepEqual(before, ['function', false, true]);
  assert.deepEqual(after, ['function', true, true]);
});

function chunked(list: readonly unknown[]): [readonly unknown[], readonly unknown[]] {
  return [list.slice(0, 3), list.slice(3)];
}
