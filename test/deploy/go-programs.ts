/**
 * Builds Helm, docker-compose, Jaeger and the API server of Kubernetes from their Go modules, each once, into the project’s cache
 * folder, and runs the first two without the settings of the user. A build takes some minutes.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Ended } from '../contract/child.ts';
import { ROOT } from '../contract/sources.ts';
import { HOOK_LIMIT_MS } from '../deadline.ts';
import { runHere } from './linters.ts';

/** Go’s default location is not in the PATH of a shell without a profile. */
const PATH = [process.env['PATH'], '/usr/local/go/bin'].join(delimiter);
const FLAGS = ['-trimpath', '-ldflags=-s -w'];

interface GoProgram {
  readonly name: string;
  readonly version: string;
  /** Where Go runs, and with which arguments, to put it into the folder. */
  readonly cwd: string;
  readonly args: (folder: string) => readonly string[];
}

const HELM: GoProgram = {
  name: 'helm',
  version: 'v4.3.1',
  cwd: ROOT,
  args: () => ['install', ...FLAGS, `helm.sh/helm/v4/cmd/helm@${HELM.version}`],
};
const COMPOSE: GoProgram = {
  name: 'docker-compose',
  // As in its go.mod.
  version: 'v2.40.3',
  cwd: join(import.meta.dirname, 'docker-compose'),
  args: (folder) => ['build', ...FLAGS, '-o', join(folder, COMPOSE.name), 'github.com/docker/compose/v2/cmd'],
};
const JAEGER: GoProgram = {
  name: 'jaeger',
  // As in its go.mod. The image of it is jaegertracing/jaeger:2.13.0.
  version: 'v1.76.0',
  cwd: join(import.meta.dirname, 'jaeger'),
  args: (folder) => [
    ...['build', ...FLAGS, '-o', join(folder, JAEGER.name)],
    'github.com/jaegertracing/jaeger/cmd/jaeger',
  ],
};
/** Clients cannot read the version of one that does not say it. */
const VERSION_FLAGS = ['gitVersion=v1.36.3', 'gitMajor=1', 'gitMinor=36'].map(
  (each) => `-X k8s.io/component-base/version.${each}`,
);
const APISERVER: GoProgram = {
  name: 'kube-apiserver',
  // As in its go.mod.
  version: 'v1.36.3',
  cwd: join(import.meta.dirname, 'kube-apiserver'),
  args: (folder) => [
    ...['build', '-trimpath', `-ldflags=-s -w ${VERSION_FLAGS.join(' ')}`],
    ...['-o', join(folder, APISERVER.name), '.'],
  ],
};

const folderOf = ({ name, version }: GoProgram): string => join(ROOT, `.cache/${name}-${version}`);
const binaryOf = (program: GoProgram): string => join(folderOf(program), program.name);

/** Why there is no such program, or false. In CI (`CI=true`) that is an error. */
function skipWithout(program: GoProgram): string | false {
  const { name, version, cwd, args } = program;
  if (existsSync(binaryOf(program))) return false;
  process.stderr.write(`Building ${name} ${version} from Go modules (only the first time, some minutes) …\n`);
  const folder = folderOf(program);
  mkdirSync(folder, { recursive: true });
  const env = { ...process.env, PATH, CGO_ENABLED: '0', GOWORK: 'off', GOBIN: folder };
  const { status, stderr, error } = spawnSync('go', args(folder), { cwd, env, encoding: 'utf8' });
  if (status === 0) return false;
  const reason = `${name} could not be built: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  return reason;
}

export const skipWithoutHelm = (): string | false => skipWithout(HELM);
export const skipWithoutCompose = (): string | false => skipWithout(COMPOSE);
export const skipWithoutJaeger = (): string | false => skipWithout(JAEGER);
export const skipWithoutApiServer = (): string | false => skipWithout(APISERVER);

/** The path of Jaeger. */
export const JAEGER_BINARY = binaryOf(JAEGER);
/** The path of the API server. */
export const API_SERVER = binaryOf(APISERVER);

export function helm(...args: readonly string[]): Promise<Ended> {
  const home = join(folderOf(HELM), 'home');
  return runHere(binaryOf(HELM), args, {
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
  });
}

/** @param env with `DOCKER_HOST`, and what the file refers to */
export function dockerCompose(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  // It waits until servers are healthy.
  return runHere(binaryOf(COMPOSE), args, env, HOOK_LIMIT_MS);
}
