/** Tells whether two exceptions are the same problem: raised in the same task, of the same class, at the same place. Pure. */
import { hash } from 'node:crypto';
import { lastFrames } from './python-traceback.ts';

const FRAMES = 5;
const HEX_DIGITS = 16;
/** A stack trace is bounded where it is decoded; more would not be read. */
const CHARS_MAX = 64 * 1024;

/**
 * 16 hexadecimal digits. Equal for the same task and class with the same innermost frames, by file and function: line numbers
 * change with every release, source lines and their marks with the version of Python.
 */
export function fingerprintOf(task: string, errorType: string, stacktrace: string): string {
  const frames = lastFrames(stacktrace.slice(0, CHARS_MAX), FRAMES);
  const places = frames.map(({ file, function: name }) => `${file}:${name}`);
  return hash('sha256', JSON.stringify([task, errorType, ...places]), 'hex').slice(0, HEX_DIGITS);
}
