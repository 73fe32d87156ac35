/** The formats of paths of TLS files. Reading one checks that the file is readable and contains a certificate or a key. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Format, format } from './formats.ts';

/** The path of a PEM file with a certificate, or several of them. */
export const certificateFile: Format<string> = pemFile('certificate', (pem) => new X509Certificate(pem));

/** The path of a PEM file with a private key, without a passphrase. */
export const keyFile: Format<string> = pemFile('private key without a passphrase', (pem) =>
  createPrivateKey(pem),
);

/** @param parse throws if the content is not what is expected */
function pemFile(what: string, parse: (pem: Buffer) => unknown): Format<string> {
  const expects = `the path of a PEM file with a ${what}`;
  return format(expects, (path) => {
    let pem: Buffer;
    try {
      pem = readFileSync(path);
    } catch (error) {
      return { ok: false, expected: `${expects} (this one cannot be read: ${systemErrorCode(error)})` };
    }
    try {
      parse(pem);
      return { ok: true, value: path };
    } catch {
      // The parser's message about PEM syntax does not help.
      return { ok: false, expected: `${expects} (this one has none)` };
    }
  });
}

/** The code of a system error, such as `ENOENT`. */
export function systemErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
