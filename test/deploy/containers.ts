/**
 * Builds and runs containers with buildah and podman, with storage and settings in the project’s cache folder, so that nothing
 * of the system’s is used. What users pull from a registry is stood in for by a Debian with this project’s Node. It knows
 * nothing about celery-otel.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Ended, runChild } from '../contract/child.ts';
import { ROOT } from '../contract/sources.ts';
import { HOOK_LIMIT_MS } from '../deadline.ts';
import { attempt } from '../real/install.ts';

const PACKAGES = ['buildah', 'podman', 'runc', 'netavark', 'aardvark-dns', 'mmdebstrap', 'iptables'];
const FOLDER = join(ROOT, '.cache/containers');
const SETTINGS = { storage: join(FOLDER, 'storage.conf'), containers: join(FOLDER, 'containers.conf') };
export const BASE_IMAGE = 'localhost/base:bookworm';
/** In place of the one that our Dockerfile names. */
export const NODE_IMAGE = 'localhost/node:22-bookworm-slim';
export const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Overlays, since podman’s default copies every layer; and limits that may be set without more rights than root’s here. */
const STORAGE = `[storage]
driver = "overlay"
runroot = "${join(FOLDER, 'run')}"
graphroot = "${join(FOLDER, 'graph')}"
`;
const CONTAINERS = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=30000:30000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
`;

/** Why no container can be built here, or false. Installs what is missing; in CI (`CI=true`) a failure is an error. */
export function skipWithoutContainers(): string | false {
  const reason = ensureContainers();
  if (reason !== undefined && process.env['CI'] === 'true') throw new Error(reason);
  return reason ?? false;
}

function ensureContainers(): string | undefined {
  const missing = PACKAGES.filter((name) => spawnSync('dpkg-query', ['--show', name]).status !== 0);
  if (process.getuid?.() !== 0) return 'building and running containers needs root here';
  if (missing.length > 0) {
    const failure = attempt('apt-get', ['-q', 'install', '-y', '--no-install-recommends', ...missing]);
    if (failure !== undefined) return `apt-get cannot install ${missing.join(', ')}: ${failure}`;
  }
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(SETTINGS.storage, STORAGE);
  writeFileSync(SETTINGS.containers, CONTAINERS);
  if (hasImage(NODE_IMAGE)) return undefined;
  return makeBase() ?? makeNode();
}

/** The variables that podman and buildah read. */
export function containerEnv(): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return {
    ...{ PATH, HOME, BUILDAH_ISOLATION: 'chroot' },
    ...{ CONTAINERS_STORAGE_CONF: SETTINGS.storage, CONTAINERS_CONF: SETTINGS.containers },
  };
}

export function podman(...args: readonly string[]): Promise<Ended> {
  return runContainers('podman', args);
}

export interface ImageBuild {
  readonly tag: string;
  readonly file: string;
  readonly context: string;
  readonly args?: Readonly<Record<string, string>>;
}

/** Builds an image, from layers of earlier builds where nothing has changed. Rejects with the end of the output. */
export async function buildImage({ tag, file, context, args = {} }: ImageBuild): Promise<void> {
  const given = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  const options = ['--format', 'docker', '--layers', '--file', file, ...given, '--tag', tag];
  const { code, stdout, stderr } = await runContainers('buildah', ['bud', ...options, context]);
  if (code !== 0) throw new Error(`${tag} cannot be built\n${stdout.slice(-4000)}${stderr.slice(-4000)}`);
}

/** That of celery-otel, from this repository. */
export function buildOurs(tag: string): Promise<void> {
  return buildImage({ tag, file: join(ROOT, 'Dockerfile'), context: ROOT, args: { NODE_IMAGE } });
}

function runContainers(command: string, args: readonly string[]): Promise<Ended> {
  // At a lower level, each container is said to have no timer of systemd for its health.
  const quiet = command === 'podman' ? ['--log-level=fatal'] : [];
  const options = { cwd: ROOT, env: containerEnv(), timeoutMs: HOOK_LIMIT_MS };
  return runChild(command, [...quiet, ...args], options);
}

function hasImage(name: string): boolean {
  return spawnSync('podman', ['image', 'exists', name], { env: containerEnv() }).status === 0;
}

/** A Debian, from its own packages. @returns what failed, or undefined */
function makeBase(): string | undefined {
  const file = join(FOLDER, 'base.tar');
  const args = ['--quiet', '--variant=minbase', '--include=ca-certificates', 'bookworm', file];
  const failure = existsSync(file) ? undefined : attempt('mmdebstrap', args);
  return failure ?? within('podman', ['import', '--quiet', file, BASE_IMAGE]);
}

/** That Debian with our Node, the npm of this machine and the certificates that it trusts. */
function makeNode(): string | undefined {
  const npm = spawnSync('which', ['npm'], { encoding: 'utf8' }).stdout.trim();
  if (npm === '') return 'there is no npm to put into an image';
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-node-image-'));
  try {
    cpSync(process.execPath, join(folder, 'node'));
    cpSync(resolve(dirname(realpathSync(npm)), '..'), join(folder, 'npm'), {
      recursive: true,
      dereference: true,
    });
    cpSync(CERTIFICATES, join(folder, 'ca.crt'), { dereference: true });
    writeFileSync(
      join(folder, 'Dockerfile'),
      `FROM ${BASE_IMAGE}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY ca.crt ${CERTIFICATES}
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\
  && npm config set --location=global cafile ${CERTIFICATES} \\
  && useradd --uid 1000 --create-home node
`,
    );
    return within('buildah', ['bud', '--quiet', '--format', 'docker', '--tag', NODE_IMAGE, folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs it to its end. @returns what failed, or undefined */
function within(command: string, args: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(command, args, { env: containerEnv(), encoding: 'utf8' });
  if (status === 0) return undefined;
  return `${command} ${args[0]}: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
}
