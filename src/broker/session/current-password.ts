/**
 * Makes addresses read their password from a file, for passwords that change: each connection reads the file again. It keeps
 * no password.
 */
import type { BrokerUrl, BrokerUrls } from '../broker-url.ts';
import { readPassword } from '../server/password-file.ts';

/** Returns the addresses with a `password` that reads the file on each access. */
export function withPasswordFile([first, ...others]: BrokerUrls, file: string): BrokerUrls {
  return [fromFile(first, file), ...others.map((url) => fromFile(url, file))];
}

function fromFile(url: BrokerUrl, file: string): BrokerUrl {
  // Such a broker has no logins.
  if (url.password === undefined) return url;
  // Not enumerable: code that only copies or lists the properties must not fail because of the file.
  return Object.defineProperty({ ...url }, 'password', { get: () => readPassword(file), enumerable: false });
}
