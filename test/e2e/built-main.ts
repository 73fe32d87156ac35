/** Builds the command as it is shipped: what runs from its TypeScript needs 20 to 60 MiB more. It runs nothing. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runChild } from '../contract/child.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The path of `main.js`, which is gone after the test. It is within the repository, where its dependencies are found. */
export async function builtMain(t: TestContext): Promise<string> {
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.cache/built-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--project', join(ROOT, 'tsconfig.build.json'), '--outDir', folder];
  const { code, stdout } = await runChild(process.execPath, args, { cwd: ROOT, env: {}, timeoutMs: 60_000 });
  if (code !== 0) throw new Error(`it cannot be built:\n${stdout}`);
  return join(folder, 'cli/main.js');
}
