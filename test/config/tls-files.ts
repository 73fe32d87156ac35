/** PEM files for tests of options; they are never used for TLS. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from '../real/at-exit.ts';

/** Self-signed for CN=celery-otel.test; its key was thrown away. */
const CERTIFICATE_BASE64 =
  'MIIBjDCCATOgAwIBAgIUQrkQ4qnVxBdu9LwH8xyYIxjIBNAwCgYIKoZIzj0EAwIwGzEZMBcGA1UEAwwQY2VsZXJ5LW90ZWwudGVzdDAgFw0yNjExMjExMTIyMDJaGA8yMTI2MTAyODExMjIwMlowGzEZMBcGA1UEAwwQY2VsZXJ5LW90ZWwudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABP5WfzoJetgVE8aKYcsKMombmZsYNVVhQ5SL03YTV5t9DiqRBOvj86cyCp6sbpoNrEnkrxfoe6oV5fsPfz7GreOjUzBRMB0GA1UdDgQWBBSzZEsOHUuTI0m9R949q7NGaSuPsjAfBgNVHSMEGDAWgBSzZEsOHUuTI0m9R949q7NGaSuPsjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIFlQ18uPpsLmeLU3wvLQKBLFXlz8+c2DJkoobnFwfERSAiAilH9anB/2TJ9Hc33ceToYzwxpNXGIF2QY5XpaQU379g==';

export interface TlsFiles {
  readonly folder: string;
  readonly certificate: string;
  readonly key: string;
  /** A key that needs a passphrase. */
  readonly lockedKey: string;
  /** A file with a token and a line break. */
  readonly token: string;
  /** A file that is no PEM. */
  readonly other: string;
  readonly missing: string;
}

/** Writes the files into a temporary folder, which is removed when the process exits. */
export function makeTlsFiles(): TlsFiles {
  const folder = mkdtempSync(join(tmpdir(), 'celery-otel-config-'));
  atExit(() => rmSync(folder, { recursive: true }));
  const { privateKey } = generateKeyPairSync('ed25519');
  const format = { type: 'pkcs8', format: 'pem' } as const;
  const write = (name: string, text: string | Buffer): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  return {
    folder,
    certificate: write(
      'certificate.pem',
      `-----BEGIN CERTIFICATE-----\n${CERTIFICATE_BASE64}\n-----END CERTIFICATE-----\n`,
    ),
    token: write('token', 'S3cret-of-the-status\n'),
    key: write('key.pem', privateKey.export(format)),
    lockedKey: write(
      'locked.pem',
      privateKey.export({ ...format, cipher: 'aes-256-cbc', passphrase: 'open sesame' }),
    ),
    other: write('other.txt', 'no PEM\n'),
    missing: join(folder, 'missing.pem'),
  };
}
