/**
 * Builds the command as shipped, once for all test files of a run: from TypeScript it starts in nearly twice the time, and needs
 * 20 to 60 MiB more. It runs nothing.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from '../contract/child.ts';
import { DEADLINE_MS } from '../deadline.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface BuiltMain {
  /** The path of `main.js`, in the repository, where its dependencies are found. */
  readonly path: string;
  remove(): void;
}

/** What the package has beside the compiled code, as far as the command reads it. */
const SHIPPED = ['otel-config', 'page'];
/** For the processes of test files: the path of the command that was built for all. */
const VARIABLE = 'TEST_MAIN';

/** Builds it for the processes that are started from now on. */
export async function lendMain(): Promise<BuiltMain> {
  const main = await buildMain();
  process.env[VARIABLE] = main.path;
  return main;
}

/** The one that was built for all, if one was. */
export function lentMain(): string | undefined {
  return process.env[VARIABLE];
}

/** The one that was built for all, or one of its own. */
export async function buildMain(): Promise<BuiltMain> {
  const lent = lentMain();
  if (lent !== undefined) return { path: lent, remove: () => undefined };
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.cache/built-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--project', join(ROOT, 'tsconfig.build.json'), '--outDir', join(folder, 'dist')];
  const { code, stdout } = await runChild(process.execPath, args, {
    cwd: ROOT,
    env: {},
    timeoutMs: DEADLINE_MS,
  });
  if (code !== 0) {
    remove();
    throw new Error(`it cannot be built:\n${stdout}`);
  }
  for (const name of SHIPPED) symlinkSync(join(ROOT, name), join(folder, name));
  return { path: join(folder, 'dist/cli/main.js'), remove };
}
