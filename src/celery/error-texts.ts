/**
 * Reads the texts of an exception that people see (class with module, message, traceback) from the Python repr and the
 * traceback of an event. They are bounded, and detached from the body. `error-type.ts` decides the class. Pure.
 */
import { BODY_LIMITS } from './body-limits.ts';
import { AFTER_ANGLED, lastRaised, pathAt, RETRY_REASON, UNKNOWN_ERROR } from './error-type.ts';
import type { ErrorTexts } from './event.ts';
import { detached } from './fields.ts';
import { omissionLine, withoutSeam } from './shortened-text.ts';
import { nameInTraceback } from './traceback.ts';

const MESSAGE_CHARS_MAX = BODY_LIMITS.message.max;
const PATH_CHARS_MAX = BODY_LIMITS.exception.max;
const CLASS_CHARS_MAX = BODY_LIMITS.error_type.max;
const STACK_BYTES_MAX = BODY_LIMITS.stacktrace.max;
/** Characters that are read of a repr: more than a message may have, since decoding the escapes makes a text shorter. */
const REPR_CHARS_MAX = 4 * MESSAGE_CHARS_MAX;
/** Bytes reserved for the line that replaces the middle, for its line breaks, and for moving both cuts to whole characters. */
const MARK_BYTES = 64;
/** A UTF-16 unit has at most three bytes in UTF-8. */
const BYTES_PER_CHARACTER = 3;
/** Precedes each line of an exception group. */
const GROUP_MARGIN = '  | ';

/** The class and message of an exception; '' if the text does not contain them. */
interface ReadTexts {
  readonly path: string;
  readonly message: string;
}

/** @param errorType the class that `error-type.ts` found */
export function errorTexts(exception: unknown, traceback: unknown, errorType: string): ErrorTexts {
  const stack = typeof traceback === 'string' ? traceback : '';
  // The traceback of a retry ends with Celery's `Retry`, not with the exception that caused it.
  const texts = ifOfClass(errorType, textsOfTraceback(stack)) ?? textsOfRepr(exception);
  const path = ifOfClass(errorType, texts)?.path ?? (errorType === UNKNOWN_ERROR ? '' : errorType);
  return {
    path: cut(path, PATH_CHARS_MAX),
    message: cut(texts.message, MESSAGE_CHARS_MAX),
    stacktrace: cutStack(withoutSeam(stack)),
  };
}

/** The texts if their path ends with this class; otherwise undefined. */
function ifOfClass(errorType: string, texts: ReadTexts | undefined): ReadTexts | undefined {
  const name = texts?.path.slice(texts.path.lastIndexOf('.') + 1, texts.path.length);
  return name?.slice(0, CLASS_CHARS_MAX) === errorType ? texts : undefined;
}

/** Reads from the line that names the last exception to the end, since a message may have several lines. */
function textsOfTraceback(stack: string): ReadTexts | undefined {
  const raised = lastRaised(stack);
  if (raised === undefined) return undefined;
  const at = nameInTraceback(stack);
  const isInGroup = stack.slice(at - GROUP_MARGIN.length, at) === GROUP_MARGIN;
  const rest = stack.slice(at + raised.path.length, at + raised.path.length + 2 * MESSAGE_CHARS_MAX);
  // A line that begins with a URL names no class.
  if (rest.startsWith('://')) return undefined;
  const [line = ''] = isInGroup ? rest.split('\n', 1) : [rest];
  return { path: raised.path, message: line.replace(/^: ?/u, '').trimEnd() };
}

/** Reads a Python repr: `KeyError('k')`, `<HttpError 404 …>`, `shop.Declined: no`, or any other text. */
function textsOfRepr(exception: unknown): ReadTexts {
  const whole = typeof exception === 'string' ? exception.slice(0, REPR_CHARS_MAX).trim() : '';
  const repr = RETRY_REASON.exec(whole)?.[1]?.replace(/, [^,)]*\)$/u, '') ?? whole;
  if (repr === 'None') return { path: '', message: '' };
  const isAngled = repr.startsWith('<');
  const path = pathAt(repr, isAngled ? 1 : 0)?.path ?? '';
  const rest = repr.slice(path.length + (isAngled ? 1 : 0));
  if (isAngled && path !== '' && AFTER_ANGLED.test(rest.charAt(0))) {
    const message = rest.replace(/^[\s:]+/u, '').replace(/>$/u, '');
    return { path, message: message.startsWith('object at 0x') ? '' : message };
  }
  if (path !== '' && rest.startsWith('('))
    return { path, message: firstArgument(rest.slice(1).replace(/\)$/u, '')) };
  if (path !== '' && rest.startsWith(': ')) return { path, message: rest.slice(2) };
  return { path: '', message: repr };
}

/** The numbers before the first string among an exception’s arguments, as in `OSError(2, 'No such file')`. */
const FIRST_TEXT = /^(?:[\w.+-]+, )*(?=['"])/u;
/** An escape in a Python string: two or four hexadecimal digits, or any other character after a backslash. */
const ESCAPED = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))/gsu;
const CONTROLS = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** The first string among the arguments of an exception, decoded; all arguments if none is a string. */
function firstArgument(args: string): string {
  const from = FIRST_TEXT.exec(args)?.[0].length;
  if (from === undefined) return args;
  const quote = args.charAt(from);
  let end = from + 1;
  while (end < args.length && args[end] !== quote) end += args[end] === '\\' ? 2 : 1;
  return args
    .slice(from + 1, end)
    .replace(ESCAPED, (_, byte?: string, unit?: string, other = '') =>
      byte === undefined && unit === undefined
        ? (CONTROLS.get(other) ?? other)
        : String.fromCharCode(Number.parseInt(byte ?? unit ?? '', 16)),
    );
}

function cut(text: string, charsMax: number): string {
  return text === '' ? '' : detached(text.slice(0, charsMax).toWellFormed());
}

/** Cuts out the middle: the outermost frame is at the beginning, the innermost frame and the exception are at the end. */
function cutStack(stack: string): string {
  if (stack.length * BYTES_PER_CHARACTER <= STACK_BYTES_MAX) return cut(stack, stack.length);
  const bytes = Buffer.from(stack.toWellFormed());
  if (bytes.length <= STACK_BYTES_MAX) return cut(stack, stack.length);
  const half = (STACK_BYTES_MAX - MARK_BYTES) / 2;
  const head = bytes.subarray(0, wholeCharacter(bytes, half));
  const tail = bytes.subarray(wholeCharacter(bytes, bytes.length - half));
  return `${head}\n${omissionLine(bytes.length - head.length - tail.length)}\n${tail}`;
}

/** The first position at or after `from` where a character begins; at most three bytes later. */
function wholeCharacter(bytes: Buffer, from: number): number {
  let at = from;
  while (((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return at;
}
