/** Certificates for a backend that speaks TLS. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Certificates, makeCertificates } from '../../real/certificates.ts';

interface Files extends Certificates {
  readonly folder: string;
}

/** Removed after the test. */
export function certificates(t: TestContext): Files {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-tls-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return { ...makeCertificates(join(folder, 'tls')), folder };
}

export const serverOf = ({ certFile, keyFile }: Files) => ({
  cert: readFileSync(certFile),
  key: readFileSync(keyFile),
});
