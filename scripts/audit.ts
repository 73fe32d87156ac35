/**
 * `npm run audit`: asks the registry for known vulnerabilities of the shipped packages. Severe ones fail. If the registry
 * does not answer, it says so and succeeds.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const SEVERE = new Set(['high', 'critical']);

interface Report {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  /** Instead of all else if there was no report. */
  readonly message?: string;
}

const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: ROOT,
  encoding: 'utf8',
});
if (error !== undefined) throw error;
const report = read(stdout);
if (report.vulnerabilities === undefined) {
  process.stdout.write(`Not audited, since the registry gave no report: ${report.message ?? 'no answer'}\n`);
} else {
  const found = Object.entries(report.vulnerabilities);
  for (const [name, { severity }] of found) process.stdout.write(`${severity}: ${name}\n`);
  process.stdout.write(`Shipped packages with known vulnerabilities: ${found.length}\n`);
  if (found.some(([, { severity }]) => SEVERE.has(severity))) process.exitCode = 1;
}

function read(text: string): Report {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy may answer with an HTML page.
    return { message: 'the answer is not JSON' };
  }
}
