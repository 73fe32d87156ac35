/** `npm run build`: compiles `src/` to `dist/`, from nothing, so that no file of an older build is left in the package. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');

rmSync(path.join(ROOT, 'dist'), { recursive: true, force: true });
const { status, error } = spawnSync('tsc', ['--project', 'tsconfig.build.json'], {
  cwd: ROOT,
  stdio: 'inherit',
});
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
