/**
 * Makes addresses read their password from a file, for passwords that change: each connection reads the file again. It keeps
 * no password.
 */
import type { BrokerUrl, BrokerUrls, RecordingUrl } from '../broker-url.ts';
import { readPassword } from '../server/password-file.ts';
import { Refusal } from '../server/refusal.ts';

/** Returns the addresses with a `password` that reads the file on each access. */
export function withPasswordFile([first, ...others]: BrokerUrls, file: string): BrokerUrls {
  return [fromFile(first, file), ...others.map((url) => fromFile(url, file))];
}

/** The current password of an address; '' while its file cannot be read. */
export function currentPassword(url: Exclude<BrokerUrl, RecordingUrl>): string {
  try {
    return url.password;
  } catch (error) {
    if (error instanceof Refusal) return '';
    throw error;
  }
}

function fromFile(url: BrokerUrl, file: string): BrokerUrl {
  if (url.scheme === 'recording') return url;
  // Not enumerable: code that only copies or lists the properties must not fail because of the file.
  return Object.defineProperty({ ...url }, 'password', { get: () => readPassword(file), enumerable: false });
}
