/**
 * Builds the OpenTelemetry Collector for the tests once, from the Go modules pinned in `scripts/otelcol/`, into the project’s
 * cache folder. It runs no Collector and writes no configuration.
 *
 *     node scripts/otelcol.ts             prints the path of the binary, and builds it if it is missing
 *     node scripts/otelcol.ts --update    rebuilds and updates go.mod and go.sum
 *
 * The Collector’s builder only generates the sources. Its next step (`go mod tidy`) would download the test dependencies of
 * every component; a plain `go build` needs none of them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const SOURCE_FOLDER = join(import.meta.dirname, 'otelcol');
const CACHE_FOLDER = resolve(import.meta.dirname, '../.cache/otelcol');
const MODULE_FILES = ['go.mod', 'go.sum'];
const BINARY = 'otelcol';
/** Prefix of the folder of a build that is in progress, or was killed. */
const UNFINISHED = 'building-';
const BUILD_FLAGS = ['-trimpath', '-buildvcs=false', '-ldflags=-s -w'];
/** Without C, the build needs Go only; and no workspace of a parent folder may change it. */
const GO_ENVIRONMENT = { CGO_ENABLED: '0', GOWORK: 'off' };

export type OtelcolBuild =
  | { readonly available: true; readonly binary: string; readonly version: string }
  | { readonly available: false; readonly reason: string };

/**
 * Builds the Collector if it is missing: two to four minutes with empty Go caches. If Go or its modules are not available,
 * returns the reason; in CI (`CI=true`) that is an error.
 */
export function ensureOtelcol(): OtelcolBuild {
  const found = builtOtelcol();
  if (found.available) return found;
  process.stderr.write(
    `Building the OpenTelemetry Collector ${collectorVersion()} from Go modules (only the first time, some minutes) …\n`,
  );
  const failure = build('readonly');
  if (failure === undefined) return builtOtelcol();
  const reason =
    `the OpenTelemetry Collector could not be built: ${failure}\n` +
    `It needs Go ${goVersion()} or newer (https://go.dev/dl) and access to a Go module proxy (go env GOPROXY).`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  return { available: false, reason };
}

/** Whether the Collector is built in the current version; builds nothing. */
export function builtOtelcol(): OtelcolBuild {
  const binary = join(buildFolder(), BINARY);
  if (!existsSync(binary)) return { available: false, reason: 'it is not built: node scripts/otelcol.ts' };
  // `otelcol version 1.2.3`
  const version = execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1);
  if (version === undefined) throw new Error(`${binary} --version printed nothing`);
  return { available: true, binary, version };
}

/**
 * Builds in a temporary folder and moves it into place when it is complete, so that nothing uses an incomplete build.
 * @returns what failed, or undefined
 */
function build(modules: 'readonly' | 'mod'): string | undefined {
  mkdirSync(CACHE_FOLDER, { recursive: true });
  const folder = mkdtempSync(join(CACHE_FOLDER, UNFINISHED));
  try {
    for (const file of MODULE_FILES) copyFileSync(join(SOURCE_FOLDER, file), join(folder, file));
    const builder = `go.opentelemetry.io/collector/cmd/builder@v${collectorVersion()}`;
    const generate = ['--config', manifestFile(), '--skip-get-modules', '--skip-compilation'];
    const failure =
      go(folder, ['run', builder, ...generate]) ??
      go(folder, ['build', `-mod=${modules}`, ...BUILD_FLAGS, '-o', BINARY, '.']);
    if (failure !== undefined) return failure;
    if (modules === 'mod') {
      for (const file of MODULE_FILES) copyFileSync(join(folder, file), join(SOURCE_FOLDER, file));
    }
    putInPlace(folder);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function putInPlace(folder: string): void {
  const place = buildFolder();
  for (const name of readdirSync(CACHE_FOLDER)) {
    const other = join(CACHE_FOLDER, name);
    if (!name.startsWith(UNFINISHED) && other !== place) rmSync(other, { recursive: true, force: true });
  }
  try {
    renameSync(folder, place);
  } catch (error) {
    // Another process has built the same at the same time.
    if (!existsSync(join(place, BINARY))) throw error;
  }
}

/** Named after a hash of all inputs, so that any change causes another build. */
function buildFolder(): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([process.platform, process.arch, BUILD_FLAGS, GO_ENVIRONMENT]));
  for (const file of [manifestFile(), ...MODULE_FILES.map((name) => join(SOURCE_FOLDER, name))]) {
    hash.update(readFileSync(file));
  }
  return join(CACHE_FOLDER, hash.digest('hex').slice(0, 16));
}

/** Runs the Go command; undefined if it succeeded, else the last line of its output. */
function go(cwd: string, args: readonly string[]): string | undefined {
  const { status, signal, stderr, error } = spawnSync('go', args, {
    cwd,
    env: { ...process.env, ...GO_ENVIRONMENT },
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status === 0) return undefined;
  if (error !== undefined) return `cannot run Go (${error.message})`;
  return stderr.trim().split('\n').at(-1) || `go ${args[0]} ended with ${signal ?? status}`;
}

function manifestFile(): string {
  return join(SOURCE_FOLDER, 'manifest.yaml');
}

function collectorVersion(): string {
  return versionIn(manifestFile(), /^ {2}version: (\S+)$/m);
}

function goVersion(): string {
  return versionIn(join(SOURCE_FOLDER, 'go.mod'), /^go (\d+\.\d+)/m);
}

function versionIn(file: string, pattern: RegExp): string {
  const version = pattern.exec(readFileSync(file, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${file} has no ${pattern.source}`);
  return version;
}

/** @returns what to print */
function main(update: boolean): string {
  const failure = update ? build('mod') : undefined;
  if (failure !== undefined) throw new Error(failure);
  const collector = ensureOtelcol();
  if (!collector.available) throw new Error(collector.reason);
  return collector.binary;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  try {
    const { values } = parseArgs({ options: { update: { type: 'boolean', default: false } } });
    process.stdout.write(`${main(values.update)}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
