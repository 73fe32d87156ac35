/**
 * Addresses whose password is in a file, for passwords that change: whoever connects with one reads the file anew. It keeps no
 * password.
 */
import type { BrokerUrl, BrokerUrls } from './broker-url.ts';
import { readPassword } from './server/password-file.ts';

/** The addresses, each of whose passwords is what the file has whenever it is asked for. */
export function withPasswordFile([first, ...others]: BrokerUrls, file: string): BrokerUrls {
  return [fromFile(first, file), ...others.map((url) => fromFile(url, file))];
}

function fromFile(url: BrokerUrl, file: string): BrokerUrl {
  if (url.scheme === 'recording') return url;
  // Hidden from whatever looks at all properties, which may not connect, and must not fail.
  return Object.defineProperty({ ...url }, 'password', { get: () => readPassword(file), enumerable: false });
}
