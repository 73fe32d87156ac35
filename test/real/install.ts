/**
 * Installs the real programs for the tests: RabbitMQ, Redis, Celery, Prometheus, Chromium, tmux and systemd’s checks from Debian's packages,
 * and the newest Celery from PyPI in a virtual environment of the project. Done once; instant when all is installed. The
 * Collector is built by `scripts/otelcol.ts`. Run it for all of them: `node test/real/install.ts`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { builtOtelcol, ensureOtelcol, type OtelcolBuild } from '../../scripts/otelcol.ts';

/** Debian's interpreter, even if another Python is first on the PATH. */
export const DEBIAN_PYTHON = '/usr/bin/python3';

/** Installed next to Debian's Celery. Without the extra, kombu lacks `packaging` when it connects. */
const NEWEST_CELERY = [
  ...['celery[redis]==5.7.*', 'gevent==26.*', 'eventlet==0.41.*'],
  // With instrumentation, which runs only in programs that ask for it.
  ...requirementsOf('../../examples/traced-shop/requirements.txt'),
];
const VENV_FOLDER = resolve(import.meta.dirname, '../../.cache/celery-newest');
const POLICY_FILE = '/usr/sbin/policy-rc.d';

interface Part {
  readonly package: string;
  readonly isThere: () => boolean;
}

/** One row per Debian package. Tests start their own servers: the packages' services are not used. */
const PARTS: readonly Part[] = [
  { package: 'rabbitmq-server', isThere: () => isCommand('rabbitmq-server') },
  { package: 'redis-server', isThere: () => isCommand('redis-server') },
  { package: 'python3-celery', isThere: () => hasModule('celery') },
  { package: 'python3-redis', isThere: () => hasModule('redis') },
  { package: 'python3-gevent', isThere: () => hasModule('gevent') },
  { package: 'python3-eventlet', isThere: () => hasModule('eventlet') },
  { package: 'python3-yaml', isThere: () => hasModule('yaml') },
  { package: 'python3-venv', isThere: () => hasModule('ensurepip') },
  { package: 'openssl', isThere: () => isCommand('openssl') },
  { package: 'prometheus', isThere: () => isCommand('prometheus') },
  { package: 'chromium', isThere: () => isCommand('chromium') },
  { package: 'tmux', isThere: () => isCommand('tmux') },
  { package: 'systemd', isThere: () => isCommand('systemd-analyze') },
];

export type NewestCelery =
  | { readonly available: true; readonly python: string; readonly version: string }
  | { readonly available: false; readonly reason: string };

/**
 * Installs missing packages, which needs root and apt-get. Throws with the command to run if that is not possible.
 */
export function ensureRealParts(): void {
  const missing = PARTS.filter((part) => !part.isThere()).map((part) => part.package);
  if (missing.length === 0) return;
  const install = ['install', '-y', '--no-install-recommends', ...missing];
  if (process.getuid?.() !== 0 || !isCommand('apt-get')) {
    throw new Error(
      `The tests run real servers, and these Debian packages are missing: ${missing.join(', ')}.\n` +
        `Install them with:\n\n  sudo apt-get update && sudo apt-get ${install.join(' ')}\n`,
    );
  }
  withoutStartingServices(() => {
    aptGet(['update']);
    aptGet(install);
  });
}

/**
 * Installs the newest Celery into the project's cache folder, once. If PyPI is not available, returns the reason; in CI
 * (`CI=true`) that is an error.
 */
export function ensureNewestCelery(): NewestCelery {
  const found = newestCelery();
  if (found.available) return found;
  rmSync(VENV_FOLDER, { recursive: true, force: true });
  mkdirSync(VENV_FOLDER, { recursive: true });
  const python = join(VENV_FOLDER, 'bin/python');
  const failure =
    attempt(DEBIAN_PYTHON, ['-m', 'venv', VENV_FOLDER]) ??
    attempt(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...NEWEST_CELERY]);
  if (failure === undefined) {
    const code = 'from importlib.metadata import version; print(version("celery"))';
    const version = execFileSync(python, ['-c', code], { encoding: 'utf8' }).trim();
    writeFileSync(markerFile(), `${version}\n`);
    return { available: true, python, version };
  }
  rmSync(VENV_FOLDER, { recursive: true, force: true });
  const reason = `the newest Celery could not be installed from PyPI: ${failure}`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  return { available: false, reason };
}

/** Whether the newest Celery is installed; installs nothing. */
export function newestCelery(): NewestCelery {
  if (!existsSync(markerFile()))
    return { available: false, reason: 'it is not installed: node test/real/install.ts' };
  const version = readFileSync(markerFile(), 'utf8').trim();
  return { available: true, python: join(VENV_FOLDER, 'bin/python'), version };
}

/** The version of each part, as text for people. */
export function partVersions(newest: NewestCelery, collector: OtelcolBuild = builtOtelcol()): string {
  const version = (name: string) => {
    const { stdout } = spawnSync('dpkg-query', ['--show', name], { encoding: 'utf8' });
    // One line: the name, a tab, the version. null without dpkg.
    return stdout?.trim().split('\t').at(1) ?? 'of another origin than Debian';
  };
  return [
    `RabbitMQ ${version('rabbitmq-server')}`,
    `Redis ${version('redis-server')}`,
    `Celery ${version('python3-celery')} (Debian)`,
    newest.available ? `Celery ${newest.version} (newest)` : `no newest Celery: ${newest.reason}`,
    `Prometheus ${version('prometheus')}`,
    `Chromium ${version('chromium')}`,
    collector.available
      ? `OpenTelemetry Collector ${collector.version}`
      : `no OpenTelemetry Collector: ${collector.reason}`,
  ].join('\n');
}

/** Named after a hash of the requirements, so that other requirements cause another installation. */
function markerFile(): string {
  return join(VENV_FOLDER, `installed-${hash('sha256', NEWEST_CELERY.join(' ')).slice(0, 16)}`);
}

function requirementsOf(file: string): readonly string[] {
  return readFileSync(resolve(import.meta.dirname, file), 'utf8')
    .trim()
    .split('\n');
}

/** Debian's packages call this file before they start their service; ours refuses, and is removed again. */
function withoutStartingServices(action: () => void): void {
  const ours = !existsSync(POLICY_FILE);
  if (ours) writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    action();
  } finally {
    if (ours) rmSync(POLICY_FILE);
  }
}

function aptGet(args: readonly string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status } = spawnSync('apt-get', ['-q', ...args], { env, stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`apt-get ${args.join(' ')} ended with ${status}`);
}

/** Runs the command; undefined if it succeeded, else the last line of its output. */
export function attempt(command: string, args: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 2, 'pipe'],
  });
  if (status === 0) return undefined;
  return error?.message ?? (stderr.trim().split('\n').at(-1) || `exit code ${status}`);
}

function isCommand(name: string): boolean {
  return ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].some((folder) =>
    existsSync(join(folder, name)),
  );
}

function hasModule(name: string): boolean {
  const code = `import importlib.util, sys; sys.exit(importlib.util.find_spec("${name}") is None)`;
  return spawnSync(DEBIAN_PYTHON, ['-c', code]).status === 0;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  try {
    ensureRealParts();
    process.stdout.write(`${partVersions(ensureNewestCelery(), ensureOtelcol())}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
