/**
 * Builds Helm once, from its Go module, into the project’s cache folder, and runs it without the settings of the user. The
 * build takes some minutes.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Ended } from '../contract/child.ts';
import { ROOT } from '../contract/sources.ts';
import { runHere } from './linters.ts';

const VERSION = 'v4.3.1';
const FOLDER = join(ROOT, `.cache/helm-${VERSION}`);
const BINARY = join(FOLDER, 'helm');
/** Go’s default location is not in the PATH of a shell without a profile. */
const PATH = [process.env['PATH'], '/usr/local/go/bin'].join(delimiter);

export const CHART = 'deploy/helm/celery-otel';

/** Why there is no Helm, or false. In CI (`CI=true`) that is an error. */
export function skipWithoutHelm(): string | false {
  if (existsSync(BINARY)) return false;
  process.stderr.write(`Building Helm ${VERSION} from its Go module (only the first time, some minutes) …\n`);
  mkdirSync(FOLDER, { recursive: true });
  const args = ['install', '-trimpath', '-ldflags=-s -w', `helm.sh/helm/v4/cmd/helm@${VERSION}`];
  const env = { ...process.env, PATH, CGO_ENABLED: '0', GOWORK: 'off', GOBIN: FOLDER };
  const { status, stderr, error } = spawnSync('go', args, { env, encoding: 'utf8' });
  if (status === 0) return false;
  const reason = `Helm could not be built: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  return reason;
}

export function helm(...args: readonly string[]): Promise<Ended> {
  const home = join(FOLDER, 'home');
  return runHere(BINARY, args, { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home });
}
