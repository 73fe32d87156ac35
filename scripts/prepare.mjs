/**
 * npm runs this to install from a clone or from git, on the user’s Node: it builds, after installing the build dependencies
 * if npm has not. Plain JavaScript without dependencies. It never installs the pinned Node, which is large.
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
  // `npm install --global` would make nested commands install globally too.
  const { npm_config_global: _, npm_config_location: __, ...env } = process.env;
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', env });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

// npm up to 11 would install its temporary clone globally, which breaks both.
if (process.env['_PACOTE_NO_PREPARE_'] !== undefined && process.env['npm_config_global'] === 'true') {
  process.stderr.write(
    'This npm cannot install globally from git (https://github.com/npm/cli/issues/9406). Pack first:\n\n' +
      '  npm install --global "$(npm pack --silent git+…)"\n\n',
  );
  process.exitCode = 1;
  // Set by `bootstrap.mjs`, which needs no build.
} else if (process.env['INSTALLING_CELERY_OTEL'] === undefined) {
  // For a global installation of a folder, npm only makes a link and installs no dependencies.
  if (!existsSync(path.join(ROOT, 'node_modules/typescript')))
    run('npm', ['ci', '--include=dev', '--ignore-scripts', ...QUIET]);
  run(process.execPath, [path.join(ROOT, 'scripts/build.mjs')]);
}
