/**
 * `npm run audit`: asks the registry what is known against the packages that ours brings along. What is severe fails;
 * where the registry does not answer that question, this is said, and is no failure.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const SEVERE = new Set(['high', 'critical']);

interface Report {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  /** In the place of all else, where there was no answer. */
  readonly message?: string;
}

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: ROOT,
  encoding: 'utf8',
});
if (error !== undefined) throw error;
const report = read(stdout);
if (report.vulnerabilities === undefined) {
  process.stdout.write(`Not audited, for the registry does not say: ${report.message ?? 'no answer'}\n`);
} else {
  const found = Object.entries(report.vulnerabilities);
  for (const [name, { severity }] of found) process.stdout.write(`${severity}: ${name}\n`);
  process.stdout.write(`${found.length} of the packages that are shipped have known vulnerabilities.\n`);
  if (found.some(([, { severity }]) => SEVERE.has(severity))) process.exitCode = 1;
}

function read(text: string): Report {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy may answer with a page of its own.
    return { message: 'what came is no report' };
  }
}
