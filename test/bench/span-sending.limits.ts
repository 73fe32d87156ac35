import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runChild } from '../contract/child.ts';
import { boundAsPrinted } from './printed-bounds.ts';

const BENCH = fileURLToPath(new URL('./span-sending.ts', import.meta.url));

test('spans and log records are encoded, queued and sent at a fraction of what the SDK takes to encode them', async (t) => {
  const options = { cwd: import.meta.dirname, env: {}, timeoutMs: 120_000 };
  const { code, stdout, stderr } = await runChild(process.execPath, [BENCH], options);
  boundAsPrinted(t, stdout);
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.match(stdout, /^queued and sent, grpc/mu);
});
