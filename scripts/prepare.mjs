/**
 * What npm runs to install from a clone or from git, on whatever Node its user has: builds, after fetching what that takes
 * where npm has not done so. Plain JavaScript without a dependency. It never asks for the pinned Node, which is large.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const QUIET = ['--loglevel=error', '--no-audit', '--no-fund'];

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  // `npm install --global` has all that it runs install globally, too.
  const { npm_config_global: _, npm_config_location: __, ...env } = process.env;
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', env });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

// npm up to 11 then installs its temporary clone globally, and breaks both that and what it installs.
if (process.env['_PACOTE_NO_PREPARE_'] !== undefined && process.env['npm_config_global'] === 'true') {
  process.stderr.write(
    'This npm cannot install globally from git (https://github.com/npm/cli/issues/9406). Pack first:\n\n' +
      '  npm install --global "$(npm pack --silent git+…)"\n\n',
  );
  process.exitCode = 1;
  // Set by `bootstrap.mjs`, whose scripts need no build.
} else if (process.env['INSTALLING_CELERY_OTEL'] === undefined) {
  // For a folder that is installed globally npm makes a link, and fetches nothing.
  if (!existsSync(path.join(ROOT, 'node_modules/typescript')))
    run('npm', ['ci', '--include=dev', '--ignore-scripts', ...QUIET]);
  run(process.execPath, [path.join(ROOT, 'scripts/build.mjs')]);
}
