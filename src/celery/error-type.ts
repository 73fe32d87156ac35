/**
 * Finds the class of an exception in the Python repr and the traceback of an event. The result is a class name without its
 * module, of at most 100 characters, and the same for each pool and version of Celery. Pure.
 */
import { BODY_LIMITS } from './body-limits.ts';
import { detached, name } from './fields.ts';
import { nameInTraceback } from './traceback.ts';

/** The label of exceptions whose class cannot be read. */
export const UNKNOWN_ERROR = 'unknown';

/** The class of retries without an exception. */
const RETRY = 'Retry';

const CLASS_CHARS_MAX = BODY_LIMITS.error_type.max;
const TEXT_CHARS_MAX = BODY_LIMITS.exception.max;

/** A part of a dotted Python path: an identifier, or `<locals>` as in the path of a nested class. */
const PART = String.raw`(?:[\p{XIDS}_]\p{XIDC}*|<\p{XIDC}+>)`;
/** A dotted Python path, matched at `lastIndex`. It has no lookahead, which would backtrack on long paths. */
const PATH = new RegExp(String.raw`${PART}(?:\.${PART})*`, 'uy');
/** The character after the class in reprs such as `<HttpError 404 …>`. */
export const AFTER_ANGLED = /[\s:>(]/u;
/** kombu's repr of an exception whose own repr fails (utils/encoding.py). */
const UNREPRESENTABLE = '<Unrepresentable ';
/** How pools other than prefork report Celery's exception for a retry; the reason is its second argument. */
export const RETRY_REASON = /^Retry\(Retry\(\.\.\.\), (.*)$/su;
/** The repr of `celery.exceptions.Reject`. */
const REJECT_REPR = /^reject requeue=/u;
/** billiard's wrapper for errors outside the task's own code; only the traceback contains the class. */
const WRAPPED_REPR = /^ExceptionWithTraceback\(/u;

/**
 * @param exception the event's `exception`: a repr, `ExceptionWithTraceback()` or nothing
 * @param traceback the event's `traceback`: a formatted traceback or nothing
 */
export function errorType(exception: unknown, traceback: unknown): string {
  const repr = typeof exception === 'string' ? exception.slice(0, TEXT_CHARS_MAX).trim() : '';
  if (REJECT_REPR.test(repr)) return 'Reject';
  // The task called `retry()` without an exception.
  if (repr === 'None') return RETRY;
  const reason = RETRY_REASON.exec(repr)?.[1];
  if (reason !== undefined) return classOfRepr(reason, pathAt(reason, 0)) ?? RETRY;
  const classOfTraceback = () => bounded(lastRaised(traceback)?.class);
  if (WRAPPED_REPR.test(repr)) return classOfTraceback() ?? UNKNOWN_ERROR;
  // `leadingClass` comes last, because custom reprs (`order 17: declined`) often do not begin with a class.
  const first = pathAt(repr, 0);
  return (
    classOfRepr(repr, first) ??
    classOfTraceback() ??
    bounded(leadingClass(repr, first)?.class) ??
    UNKNOWN_ERROR
  );
}

/**
 * The class of a failure, and whether it is a `Reject`: Celery 5.7 reports a rejection without requeue as a failure (PR
 * #10369). It reads the traceback at most once, because one may have megabytes.
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
  // Compares the full path, because a user's class may have the same name.
  const rejection = raised?.path === 'celery.exceptions.Reject';
  return { errorType: bounded(raised?.class) ?? UNKNOWN_ERROR, rejection };
}

/** The failure of a task that a worker does not know. It names the task, and is the task's only event. */
const NOT_REGISTERED = /^NotRegistered\((?:'(?<name>[^']*)'|"(?<quoted>[^"]*)")\)$/u;

/**
 * @returns the name in `NotRegistered('shop.pay')`. Celery reports this failure without a traceback; one with a traceback is
 * a user's exception of the same name
 */
export function unregistered(exception: unknown, traceback: unknown): { readonly name?: string } {
  if (typeof exception !== 'string' || !exception.startsWith('NotRegistered(')) return {};
  if (traceback !== undefined && traceback !== null) return {};
  const groups = NOT_REGISTERED.exec(exception.slice(0, TEXT_CHARS_MAX))?.groups;
  const found = groups?.['name'] ?? groups?.['quoted'];
  return found === undefined ? {} : { name: name(found) };
}

/** The class of an exception, as a repr or a traceback names it. */
export interface Raised {
  /** The class with its module, such as `shop.orders.PaymentDeclined`. */
  readonly path: string;
  /** The class alone, such as `PaymentDeclined`. */
  readonly class: string;
}

/** The class whose path begins at this position of a text; undefined if none does. */
export function pathAt(text: string, at: number): Raised | undefined {
  PATH.lastIndex = at;
  const path = PATH.exec(text)?.[0];
  if (path === undefined) return undefined;
  const name = path.slice(path.lastIndexOf('.') + 1);
  return name.startsWith('<') ? undefined : { path, class: name };
}

/**
 * The class in a repr of `BaseException.__repr__`, such as `KeyError('k')` or `ExceptionGroup('two things', [ValueError('a')])`,
 * or in `<HttpError 404 …>`, `<MaybeEncodingError: Error …`, `<shop.Declined object at 0x7f…>`.
 * @param first the path at the beginning of the repr
 */
function classOfRepr(repr: string, first: Raised | undefined): string | undefined {
  if (first !== undefined && repr[first.path.length] === '(') return bounded(first.class);
  if (!repr.startsWith('<') || repr.startsWith(UNREPRESENTABLE)) return undefined;
  const angled = pathAt(repr, 1);
  if (angled === undefined) return undefined;
  return AFTER_ANGLED.test(repr.charAt(1 + angled.path.length)) ? bounded(angled.class) : undefined;
}

/** The class at the beginning of a text such as `shop.PaymentDeclined: card declined`, or of a text that is only a class. */
function leadingClass(text: string, first: Raised | undefined): Raised | undefined {
  const rest = text.slice(first?.path.length);
  return rest.startsWith(':') || rest.trim() === '' ? first : undefined;
}

/** The exception that a traceback names last; undefined if it names none. */
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
