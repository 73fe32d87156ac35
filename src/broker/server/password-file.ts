/** Reads the password of a broker from a file. It keeps none, and its errors never contain one. */
import { readFileSync } from 'node:fs';
import { reasonOf } from '../../text/errors.ts';
import { Refusal } from './refusal.ts';

/** Synchronous, since a property of an address calls it. @throws Refusal if the file cannot be read */
export function readPassword(file: string): string {
  try {
    // Editors and shells end a file with a line break.
    return readFileSync(file, 'utf8').replace(/\r?\n$/u, '');
  } catch (error) {
    throw new Refusal(`cannot read broker_password_file: ${reasonOf(error)}`, { cause: error });
  }
}

/** The current password of an address; '' if there is none, or while its file cannot be read. */
export function currentPassword(url: { readonly password?: string }): string {
  try {
    return url.password ?? '';
  } catch (error) {
    if (error instanceof Refusal) return '';
    throw error;
  }
}
