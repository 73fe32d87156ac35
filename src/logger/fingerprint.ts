/** Computes a fingerprint that exceptions share if they have the same task and class, and were raised at the same place. Pure. */
import { hash } from 'node:crypto';
import { lastFrames } from './python-traceback.ts';

const FRAMES = 5;
const HEX_DIGITS = 16;
/** How much of a stack trace is read. Decoding cuts it to less. */
const CHARS_MAX = 64 * 1024;

/**
 * 16 hexadecimal digits, the same for the same task, class, and innermost frames by file and function. Line numbers are left
 * out because they change with every release; source lines and their marks change with the version of Python.
 */
export function fingerprintOf(task: string, errorType: string, stacktrace: string): string {
  const frames = lastFrames(stacktrace.slice(0, CHARS_MAX), FRAMES);
  const places = frames.map(({ file, function: name }) => `${file}:${name}`);
  return hash('sha256', JSON.stringify([task, errorType, ...places]), 'hex').slice(0, HEX_DIGITS);
}
