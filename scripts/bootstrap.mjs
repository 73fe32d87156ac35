/**
 * Runs a script of this project on the Node that the lock file pins, after making sure that the packages are there:
 *
 *     node scripts/bootstrap.mjs <script> [arguments …]
 *
 * It is the one file that must run on whatever Node the machine has, hence plain JavaScript without a dependency. It
 * never changes the lock file and never looks into the script: arguments, signals and the exit code pass through.
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
/** Outside `node_modules`, which an installation empties. Holds the process id of whoever installs. */
const LOCK = path.join(ROOT, '.cache', 'install.lock');
const LOCK_POLL_MS = 200;
/** Tells `prepare.mjs` that nobody needs a build. Variables that begin with `CELERY_OTEL_` are options. */
const INSTALLING = 'INSTALLING_CELERY_OTEL';

/** Signals that end a program; they are handed to the script, which decides what to do about them. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);

/** Whoever started us; it may be gone before the packages are there. */
const STARTER = process.ppid;
const NPM = npmId();
const STARTER_POLL_MS = 1000;

/**
 * npm, now, where we were started by a shell that it runs a script in; only Linux says so.
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
 * Whether the packages of the lock file are there, whoever called npm. It leaves its own copy of the lock file in
 * `node_modules` when all is in place, with the packages of other platforms left out; reading both takes milliseconds.
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
 * Whether the lock file is that of `package.json`. Where it is not, npm knows best what to say about it.
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
 * Waits for the installation lock, so that two commands started at once on a fresh clone do not install into each
 * other's folder. A lock whose owner is gone is taken over.
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
    // EPERM: it lives, under another user. Anything else: the process or the lock is gone.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/**
 * Runs `npm ci` and shows its output only if it fails.
 * @returns {Promise<void>} rejects with a sentence to print
 */
async function install() {
  say('Installing the packages into node_modules (only the first time, about a minute) …');
  // Development packages are needed whatever NODE_ENV says. Warnings about the system's Node do not concern us: the
  // pinned one runs everything.
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
  // Somebody else may have installed while we waited.
  if (!isInstalled() || !isLockInSync()) await install();
  release();
}

/**
 * Runs the script and ends as it ends.
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
      // A terminal sends Ctrl-C to the script as well; a second copy would mean "at once" to it.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  // npm dies of a SIGTERM and takes the shell with it that it runs scripts in, but tells nobody else; killed, nobody at all.
  if (process.env['npm_lifecycle_event'] && STARTER !== 1) {
    const watch = setInterval(() => {
      if (process.ppid === STARTER && npmId() === NPM) return;
      clearInterval(watch);
      child.kill('SIGTERM');
    }, STARTER_POLL_MS).unref();
  }
  child.once('error', (error) => {
    say(
      `${path.relative(ROOT, NODE)} does not run here: ${error.message}. Delete node_modules and try again.`,
    );
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
