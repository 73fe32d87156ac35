/** Paths within a configuration file: what leads to a value, and how that is written. Pure. */
import { MASK, quote } from '../format/redaction.ts';

/** Keys of maps and indices of lists, from the root on. */
export type FilePath = readonly (string | number)[];

/** `meter_provider.readers[0].periodic`, `celery.metrics["celery.task.sent"]`. It may be printed. */
export function showPath(path: FilePath): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : showKey(step, index))).join('');
}

function showKey(key: string, index: number): string {
  if (/^[\w/-]{1,120}$/.test(key)) return index === 0 ? key : `.${key}`;
  // Where a colon or a space was forgotten, an address stands where the key should be.
  return `[${quote(/:\/\/|@/.test(key) ? MASK : key)}]`;
}

/** Whether one of two written paths leads to the other, or to the same. */
export function isRelated(one: string, other: string): boolean {
  return leadsTo(one, other) || leadsTo(other, one);
}

function leadsTo(from: string, to: string): boolean {
  return from === '' || from === to || to.startsWith(`${from}.`) || to.startsWith(`${from}[`);
}

/** The path that a table has as text, with keys in the place of the words that stand for them. */
export function parsePath(text: string, words: Readonly<Record<string, string>> = {}): FilePath {
  return text.split('.').flatMap((step) => {
    const [, key = step, index] = /^(.*)\[(\d+)\]$/.exec(step) ?? [];
    const named = Object.hasOwn(words, key) ? (words[key] ?? key) : key;
    return index === undefined ? [named] : [named, Number(index)];
  });
}
