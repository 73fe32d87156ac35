/** The audit of npm's report, with a fake `npm`. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';

const AUDIT = path.resolve(import.meta.dirname, '../../scripts/audit.ts');

function audit(t: TestContext, answer: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'audit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, 'answer'), answer);
  const npm = `#!/bin/sh\n[ "$*" = "audit --omit=dev --json" ] && cat '${folder}/answer'\nexit 1\n`;
  writeFileSync(path.join(folder, 'npm'), npm, { mode: 0o755 });
  const env = { PATH: `${folder}:/usr/bin:/bin` };
  const { status, stdout } = spawnSync(process.execPath, [AUDIT], { env, encoding: 'utf8' });
  return { status, stdout };
}

/** npm's report on packages with these severities. */
function reportOf(severities: Readonly<Record<string, string>>): string {
  const vulnerabilities = Object.fromEntries(
    Object.entries(severities).map(([name, severity]) => [name, { name, severity, via: [], range: '*' }]),
  );
  return JSON.stringify({ auditReportVersion: 2, vulnerabilities });
}

test('a severe vulnerability fails and is named', (t) => {
  for (const severity of ['high', 'critical']) {
    const { status, stdout } = audit(t, reportOf({ mild: 'low', grave: severity }));
    assert.equal(status, 1);
    assert.match(stdout, new RegExp(`^${severity}: grave$`, 'mu'));
  }
});

test('other vulnerabilities are reported and do not fail', (t) => {
  assert.deepEqual(audit(t, reportOf({ mild: 'moderate' })), {
    status: 0,
    stdout: 'moderate: mild\nShipped packages with known vulnerabilities: 1\n',
  });
  assert.deepEqual(audit(t, reportOf({})), {
    status: 0,
    stdout: 'Shipped packages with known vulnerabilities: 0\n',
  });
});

test('a missing answer of the registry is reported and does not fail', (t) => {
  const message =
    '405 Method Not Allowed - POST https://registry.npmjs.org/-/npm/v1/security/advisories/bulk';
  assert.deepEqual(audit(t, JSON.stringify({ message, statusCode: 405, error: { summary: '' } })), {
    status: 0,
    stdout: `Not audited, since the registry gave no report: ${message}\n`,
  });
  for (const answer of ['', '<html>'])
    assert.match(audit(t, answer).stdout, /^Not audited, .*: the answer is not JSON\n$/u);
});
