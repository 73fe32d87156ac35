/**
 * Runs a script of this project on the Node that the lock file pins, after installing missing packages:
 *
 *     node scripts/bootstrap.mjs <script> [arguments …]
 *
 * This file must run on any Node, so it is plain JavaScript without dependencies. It never changes the lock file; arguments,
 * signals and the exit code of the script pass through.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MODULES = path.join(ROOT, 'node_modules');
const NODE_DIRECTORY = path.join(MODULES, 'node', 'bin');
const NODE = path.join(NODE_DIRECTORY, 'node');
/** Outside `node_modules`, which an installation empties. Contains the id of the installing process. */
const LOCK = path.join(ROOT, '.cache', 'install.lock');
const LOCK_POLL_MS = 200;
/** Tells `prepare.mjs` not to build. (Variables that begin with `CELERY_OTEL_` are options.) */
const INSTALLING = 'INSTALLING_CELERY_OTEL';

/** Signals that are forwarded to the script. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);

/** Our parent process, which may exit during the installation. */
const STARTER = process.ppid;
const NPM = npmId();
const STARTER_POLL_MS = 1000;

/**
 * The process id of npm if our parent is the shell in which it runs a script; only Linux shows it.
 * @returns {string | undefined}
 */
function npmId() {
  const script = process.env['npm_lifecycle_script'];
  if (!script) return undefined;
  try {
    const args = readFileSync(`/proc/${STARTER}/cmdline`, 'utf8').split('\0');
    if (!args.includes('-c') || !args.some((arg) => arg.startsWith(script))) return undefined;
    return /^PPid:\s*(\d+)$/mu.exec(readFileSync(`/proc/${STARTER}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** @param {string} text */
function say(text) {
  process.stderr.write(`${text}\n`);
}

/**
 * @param {...string} parts
 * @returns {unknown}
 */
function readJson(...parts) {
  return JSON.parse(readFileSync(path.join(ROOT, ...parts), 'utf8'));
}

/**
 * Whether the packages of the lock file are installed. After a complete installation, npm leaves a copy of the lock file in
 * `node_modules`, without the packages of other platforms; comparing both takes milliseconds.
 * @returns {boolean}
 */
function isInstalled() {
  if (!existsSync(NODE) || !existsSync(path.join(MODULES, '.package-lock.json'))) return false;
  /** @typedef {Record<string, { version?: string, integrity?: string, optional?: boolean }>} Packages */
  const { packages: wanted } = /** @type {{ packages: Packages }} */ (readJson('package-lock.json'));
  const { packages: there } = /** @type {{ packages: Packages }} */ (
    readJson('node_modules', '.package-lock.json')
  );
  return Object.entries(wanted).every(([name, row]) => {
    const found = there[name];
    if (name === '' || (row.optional && !found)) return true;
    return found?.version === row.version && found?.integrity === row.integrity;
  });
}

/**
 * Whether the lock file matches `package.json`. If not, `npm ci` reports it best.
 * @returns {boolean}
 */
function isLockInSync() {
  const manifest = /** @type {Record<string, unknown>} */ (readJson('package.json'));
  const lock = /** @type {{ packages: { '': Record<string, unknown> } }} */ (readJson('package-lock.json'));
  return ['dependencies', 'devDependencies', 'optionalDependencies'].every((field) =>
    isDeepStrictEqual(manifest[field] ?? {}, lock.packages[''][field] ?? {}),
  );
}

/**
 * Waits for the installation lock, so that two commands started at once do not install into the same folder. A lock whose
 * owner is gone is taken over.
 * @returns {Promise<() => void>} releases it
 */
async function takeLock() {
  mkdirSync(path.dirname(LOCK), { recursive: true });
  for (let attempt = 0; ; attempt += 1) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
      const release = () => {
        process.removeListener('exit', release);
        rmSync(LOCK, { force: true });
      };
      process.once('exit', release);
      return release;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
    if (attempt === 0) say('Waiting for another command that is installing the packages …');
    await sleep(LOCK_POLL_MS);
    if (!ownerLives()) rmSync(LOCK, { force: true });
  }
}

/** @returns {boolean} */
function ownerLives() {
  try {
    process.kill(Number(readFileSync(LOCK, 'utf8')), 0);
    return true;
  } catch (error) {
    // EPERM: it runs as another user. Anything else: the process or the lock is gone.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/**
 * Runs `npm ci` and shows its output only if it fails.
 * @returns {Promise<void>} rejects with a message to print
 */
async function install() {
  say('Installing the packages into node_modules (only the first time, about a minute) …');
  // Development packages are always needed, also with NODE_ENV=production. Warnings about the system’s Node do not matter:
  // the pinned one runs everything.
  const options = ['--include=dev', '--loglevel=error', '--no-audit', '--no-fund'];
  const child = spawn('npm', ['ci', `--prefix=${ROOT}`, ...options], {
    cwd: ROOT,
    env: { ...process.env, [INSTALLING]: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const outcome = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  if (outcome !== 0) throw new Error(`${output}npm ci failed (${outcome}).`);
  if (existsSync(NODE)) return;
  throw new Error(
    `${output}npm ci left no ${path.relative(ROOT, NODE)}: the npm package "node" fetches it in its install script. ` +
      'Allow that script (`npm config get ignore-scripts` must say false) and try again.',
  );
}

/** @returns {Promise<void>} */
async function ensureInstalled() {
  if (isInstalled() && isLockInSync()) return;
  const release = await takeLock();
  // Another command may have installed meanwhile.
  if (!isInstalled() || !isLockInSync()) await install();
  release();
}

/**
 * Runs the script and exits as it does.
 * @param {string} script path, relative to the project
 * @param {string[]} args
 */
function run(script, args) {
  const search = [NODE_DIRECTORY, path.join(MODULES, '.bin'), process.env['PATH']].filter(Boolean);
  const child = spawn(NODE, [path.resolve(ROOT, script), ...args], {
    stdio: 'inherit',
    env: { ...process.env, PATH: search.join(path.delimiter) },
  });
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the script too; a second one would stop it at once.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  // A SIGTERM ends npm and the shell in which it runs scripts, but npm does not forward it; so we watch for their end.
  if (process.env['npm_lifecycle_event'] && STARTER !== 1) {
    const watch = setInterval(() => {
      if (process.ppid === STARTER && npmId() === NPM) return;
      clearInterval(watch);
      child.kill('SIGTERM');
    }, STARTER_POLL_MS).unref();
  }
  child.once('error', (error) => {
    say(`cannot run ${path.relative(ROOT, NODE)}: ${error.message}. Delete node_modules and try again.`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
}

const [script, ...args] = process.argv.slice(2);
if (script === undefined) {
  say('Usage: node scripts/bootstrap.mjs <script> [arguments …]');
  process.exitCode = 64;
} else if (process.platform === 'win32') {
  say('The scripts of this project run on Linux and macOS. On Windows, use them inside WSL.');
  process.exitCode = 1;
} else {
  try {
    await ensureInstalled();
    run(script, args);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
