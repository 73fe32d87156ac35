/**
 * Makes a certificate authority and a server certificate for loopback, for tests of TLS. Never used outside of tests:
 * the keys are stored unencrypted next to the certificates.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of PEM files. */
export interface Certificates {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** Creates the folder and, in it, a CA and a certificate for `localhost` and `127.0.0.1`, both valid for two days. */
export function makeCertificates(folder: string): Certificates {
  mkdirSync(folder);
  const files = {
    caFile: join(folder, 'ca.pem'),
    certFile: join(folder, 'server.pem'),
    keyFile: join(folder, 'server.key'),
  };
  const caKeyFile = join(folder, 'ca.key');
  const requestFile = join(folder, 'server.csr');
  const extensionsFile = join(folder, 'server.ext');
  writeFileSync(extensionsFile, 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n');
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    caKeyFile,
    '-out',
    files.caFile,
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
  );
  openssl('req', ...newKey, '-keyout', files.keyFile, '-out', requestFile, '-subj', '/CN=localhost');
  openssl(
    ...['x509', '-req', '-in', requestFile, '-CA', files.caFile, '-CAkey', caKeyFile, '-CAcreateserial'],
    ...['-extfile', extensionsFile, '-days', '2', '-out', files.certFile],
  );
  return files;
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
