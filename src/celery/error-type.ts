/**
 * Finds the class of an exception in an event's Python repr and traceback. The result is a bare class name of at most 100
 * characters, independent of the pool and the version of Celery. Pure.
 */
import { BODY_LIMITS } from './body-limits.ts';
import { detached, name } from './fields.ts';
import { nameInTraceback } from './traceback.ts';

/** For exceptions whose class could not be read. */
export const UNKNOWN_ERROR = 'unknown';

/** For retries without an exception. */
const RETRY = 'Retry';

const CLASS_CHARS_MAX = BODY_LIMITS.error_type.max;
const TEXT_CHARS_MAX = BODY_LIMITS.exception.max;

/** A part of a dotted Python path, such as `<locals>` in that of a nested class. */
const PART = String.raw`(?:[\p{XIDS}_]\p{XIDC}*|<\p{XIDC}+>)`;
/** No lookahead, which would backtrack on long paths. */
const PATH = new RegExp(String.raw`${PART}(?:\.${PART})*`, 'uy');
/** The character after the class in reprs such as `<HttpError 404 …>`. */
export const AFTER_ANGLED = /[\s:>(]/u;
/** kombu's repr of an exception whose own repr fails (utils/encoding.py). */
const UNREPRESENTABLE = '<Unrepresentable ';
/** Celery's exception for a retry, except in the prefork pool; the reason is its second argument. */
export const RETRY_REASON = /^Retry\(Retry\(\.\.\.\), (.*)$/su;
/** The repr of `celery.exceptions.Reject`. */
const REJECT_REPR = /^reject requeue=/u;
/** billiard's wrapper for errors outside the task's own code; only the traceback has the class. */
const WRAPPED_REPR = /^ExceptionWithTraceback\(/u;

/**
 * @param exception the event's `exception`: a repr, `ExceptionWithTraceback()` or nothing
 * @param traceback the event's `traceback`: a formatted traceback or nothing
 */
export function errorType(exception: unknown, traceback: unknown): string {
  const repr = typeof exception === 'string' ? exception.slice(0, TEXT_CHARS_MAX).trim() : '';
  if (REJECT_REPR.test(repr)) return 'Reject';
  // `retry()` without an exception.
  if (repr === 'None') return RETRY;
  const reason = RETRY_REASON.exec(repr)?.[1];
  if (reason !== undefined) return classOfRepr(reason, pathAt(reason, 0)) ?? RETRY;
  const ofTraceback = () => bounded(lastRaised(traceback)?.class);
  if (WRAPPED_REPR.test(repr)) return ofTraceback() ?? UNKNOWN_ERROR;
  // Last, because custom reprs (`order 17: declined`) often do not begin with a class.
  const first = pathAt(repr, 0);
  return (
    classOfRepr(repr, first) ?? ofTraceback() ?? bounded(leadingClass(repr, first)?.class) ?? UNKNOWN_ERROR
  );
}

/**
 * The class of a failure, and whether it is a `Reject`: Celery 5.7 reports a rejection without requeue as a failure (PR
 * #10369). A traceback may have megabytes and is read at most once.
 */
export function failureOf(
  exception: unknown,
  traceback: unknown,
): { readonly errorType: string; readonly rejection: boolean } {
  if (typeof exception !== 'string' || !WRAPPED_REPR.test(exception)) {
    const rejection = typeof exception === 'string' && REJECT_REPR.test(exception);
    return { errorType: errorType(exception, traceback), rejection };
  }
  const raised = lastRaised(traceback);
  // By its full path: a user's class may have the same name.
  const rejection = raised?.path === 'celery.exceptions.Reject';
  return { errorType: bounded(raised?.class) ?? UNKNOWN_ERROR, rejection };
}

/** The name is that of a task that a worker does not know, whose failure is the only event of it. */
const NOT_REGISTERED = /^NotRegistered\((?:'(?<name>[^']*)'|"(?<quoted>[^"]*)")\)$/u;

/** @returns the name in a `NotRegistered('shop.pay')`, which has no traceback: others may have exceptions of that name */
export function unregistered(exception: unknown, traceback: unknown): { readonly name?: string } {
  if (typeof exception !== 'string' || !exception.startsWith('NotRegistered(')) return {};
  if (traceback !== undefined && traceback !== null) return {};
  const groups = NOT_REGISTERED.exec(exception.slice(0, TEXT_CHARS_MAX))?.groups;
  const found = groups?.['name'] ?? groups?.['quoted'];
  return found === undefined ? {} : { name: name(found) };
}

export interface Raised {
  /** `shop.orders.PaymentDeclined` */
  readonly path: string;
  /** `PaymentDeclined` */
  readonly class: string;
}

/** The path of a class at a position. */
export function pathAt(text: string, at: number): Raised | undefined {
  PATH.lastIndex = at;
  const path = PATH.exec(text)?.[0];
  if (path === undefined) return undefined;
  const name = path.slice(path.lastIndexOf('.') + 1);
  return name.startsWith('<') ? undefined : { path, class: name };
}

/**
 * The class in a repr from `BaseException.__repr__`, `KeyError('k')`, `ExceptionGroup('two things', [ValueError('a')])`, or in
 * `<HttpError 404 …>`, `<MaybeEncodingError: Error …`, `<shop.Declined object at 0x7f…>`.
 * @param first the path at its beginning
 */
function classOfRepr(repr: string, first: Raised | undefined): string | undefined {
  if (first !== undefined && repr[first.path.length] === '(') return bounded(first.class);
  if (!repr.startsWith('<') || repr.startsWith(UNREPRESENTABLE)) return undefined;
  const angled = pathAt(repr, 1);
  if (angled === undefined) return undefined;
  return AFTER_ANGLED.test(repr.charAt(1 + angled.path.length)) ? bounded(angled.class) : undefined;
}

/** The class at the start of a text: `shop.PaymentDeclined: card declined`, or the class alone. */
function leadingClass(text: string, first: Raised | undefined): Raised | undefined {
  const rest = text.slice(first?.path.length);
  return rest.startsWith(':') || rest.trim() === '' ? first : undefined;
}

/** The last of the exceptions in a traceback. */
export function lastRaised(traceback: unknown): Raised | undefined {
  if (typeof traceback !== 'string') return undefined;
  const at = nameInTraceback(traceback);
  if (at < 0) return undefined;
  const [line = ''] = traceback.slice(at, at + TEXT_CHARS_MAX).split('\n', 1);
  return leadingClass(line, pathAt(line, 0));
}

function bounded(found: string | undefined): string | undefined {
  return found === undefined ? undefined : detached(found.slice(0, CLASS_CHARS_MAX).toWellFormed());
}
