/**
 * Reads exceptions for people: class with module, message and traceback, from an event's Python repr
 * and traceback. Bounded, and detached from the body. It decides no class: `error-type.ts` does. Pure.
 */
import { BODY_LIMITS } from './body-limits.ts';
import { AFTER_ANGLED, lastRaised, pathAt, RETRY_REASON, UNKNOWN_ERROR } from './error-type.ts';
import type { ErrorTexts } from './event.ts';
import { detached } from './fields.ts';
import { leftOut, withoutSeam } from './shortened-text.ts';
import { nameInTraceback } from './traceback.ts';

const MESSAGE_CHARS_MAX = BODY_LIMITS.message.max;
const PATH_CHARS_MAX = BODY_LIMITS.exception.max;
const CLASS_CHARS_MAX = BODY_LIMITS.error_type.max;
const STACK_BYTES_MAX = BODY_LIMITS.stacktrace.max;
/** Of a repr: more than a message, since escapes become shorter. */
const REPR_CHARS_MAX = 4 * MESSAGE_CHARS_MAX;
/** The mark in the middle, and the rest of a line on either side. */
const MARK_BYTES = 64;
/** In UTF-8, a UTF-16 unit has at most so many. */
const BYTES_PER_CHARACTER = 3;
/** The margin of the lines of an exception group. */
const GROUP_MARGIN = '  | ';

/** The class and message of an exception, as far as a text contains them. */
interface Said {
  readonly path: string;
  readonly message: string;
}

/** @param errorType the class that was found */
export function errorTexts(exception: unknown, traceback: unknown, errorType: string): ErrorTexts {
  const stack = typeof traceback === 'string' ? traceback : '';
  // The traceback of a retry ends with Celery's own exception for it.
  const said = ofClass(errorType, saidByTraceback(stack)) ?? saidByRepr(exception);
  const known = ofClass(errorType, said)?.path ?? (errorType === UNKNOWN_ERROR ? '' : errorType);
  return {
    path: cut(known, PATH_CHARS_MAX),
    message: cut(said.message, MESSAGE_CHARS_MAX),
    stacktrace: cutStack(withoutSeam(stack)),
  };
}

function ofClass(errorType: string, said: Said | undefined): Said | undefined {
  const name = said?.path.slice(said.path.lastIndexOf('.') + 1, said.path.length);
  return name?.slice(0, CLASS_CHARS_MAX) === errorType ? said : undefined;
}

/** From the line that names the last exception to the end: a message may have several lines. */
function saidByTraceback(stack: string): Said | undefined {
  const raised = lastRaised(stack);
  if (raised === undefined) return undefined;
  const at = nameInTraceback(stack);
  const isInGroup = stack.slice(at - GROUP_MARGIN.length, at) === GROUP_MARGIN;
  const rest = stack.slice(at + raised.path.length, at + raised.path.length + 2 * MESSAGE_CHARS_MAX);
  // A URL, and no exception.
  if (rest.startsWith('://')) return undefined;
  const [line = ''] = isInGroup ? rest.split('\n', 1) : [rest];
  return { path: raised.path, message: line.replace(/^: ?/u, '').trimEnd() };
}

/** By a Python repr: `KeyError('k')`, `<HttpError 404 …>`, `shop.Declined: no`, or any other text. */
function saidByRepr(exception: unknown): Said {
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

/** Before the first text among the arguments of an exception there may be numbers, as in those of the system. */
const FIRST_TEXT = /^(?:[\w.+-]+, )*(?=['"])/u;
/** What a backslash and the next character mean in a Python string. */
const ESCAPED = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))/gsu;
const CONTROLS = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** The first text among the arguments of an exception; else all of them. */
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

/** Cut in the middle: Python's outermost frame is the first, the innermost and the exception are the last. */
function cutStack(stack: string): string {
  if (stack.length * BYTES_PER_CHARACTER <= STACK_BYTES_MAX) return cut(stack, stack.length);
  const bytes = Buffer.from(stack.toWellFormed());
  if (bytes.length <= STACK_BYTES_MAX) return cut(stack, stack.length);
  const half = (STACK_BYTES_MAX - MARK_BYTES) / 2;
  const head = bytes.subarray(0, wholeCharacter(bytes, half));
  const tail = bytes.subarray(wholeCharacter(bytes, bytes.length - half));
  return `${head}\n${leftOut(bytes.length - head.length - tail.length)}\n${tail}`;
}

/** That position, or up to three bytes after it, where a character begins. */
function wholeCharacter(bytes: Buffer, from: number): number {
  let at = from;
  while (((bytes[at] ?? 0) & 0xc0) === 0x80) at += 1;
  return at;
}
