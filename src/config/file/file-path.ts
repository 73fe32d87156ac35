/** Paths within a configuration file, and their text form. It reads no file. Pure. */
import { MASK, quote } from '../format/redaction.ts';

/** Keys of maps and indices of lists, from the root. */
export type FilePath = readonly (string | number)[];

/** For example `meter_provider.readers[0].periodic` or `celery.metrics["celery.task.sent"]`. Safe to print. */
export function showPath(path: FilePath): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : showKey(step, index))).join('');
}

function showKey(key: string, index: number): string {
  if (/^[\w/-]{1,120}$/.test(key)) return index === 0 ? key : `.${key}`;
  // Masked, because an address with a password may be parsed as a key if a colon or a space is missing.
  return `[${quote(/:\/\/|@/.test(key) ? MASK : key)}]`;
}

/** Whether two paths are equal, or one is a prefix of the other. */
export function isRelated(one: string, other: string): boolean {
  const [outer, inner] = one.length < other.length ? [one, other] : [other, one];
  return outer === '' || (inner.startsWith(outer) && /^[.[]|^$/.test(inner.slice(outer.length)));
}

/** Parses a path in the form that tables in the code use. */
export function parsePath(text: string): FilePath {
  return text.split('.').flatMap((step) => {
    const [, key = step, index] = /^(.*)\[(\d+)\]$/.exec(step) ?? [];
    return index === undefined ? [key] : [key, Number(index)];
  });
}

/** For example, `instrumentName` becomes `instrument_name`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
