/** The formats of a token that clients send with each request: as text, or in a file, which is read. They print no token. */
import { readFileSync } from 'node:fs';
import { type Format, format, secret } from './formats.ts';
import { systemErrorCode } from './pem-file.ts';

/**
 * Any characters that a header can contain (RFC 6750, 2.1, allows fewer), and so many that the token cannot be guessed.
 */
const TOKEN = /^[\x21-\x7e]{16,512}$/u;
const EXPECTS = '16 to 512 visible ASCII characters';

export const token: Format<string> = format(
  EXPECTS,
  (text) => (TOKEN.test(text) ? { ok: true, value: text } : undefined),
  { isSecret: true, show: secret.show },
);

/** The path of a file with a token. The value contains the path and the token. */
export const tokenFile: Format<{ readonly path: string; readonly token: string }> = format(
  `the path of a file with a token: ${EXPECTS}`,
  (path) => {
    try {
      // Trimmed, because editors and shells end a file with a line break.
      const text = readFileSync(path, 'utf8').trim();
      if (TOKEN.test(text)) return { ok: true, value: { path, token: text } };
      return { ok: false, expected: `the path of a file with a token: ${EXPECTS} (this one has none)` };
    } catch (error) {
      return { ok: false, expected: `the path of a readable file (${systemErrorCode(error)})` };
    }
  },
);
