/**
 * The class of an exception out of what an event tells of it: a Python repr, and a traceback. Pure text; the answer is
 * a bare class name of at most 100 characters, the same for one exception whatever pool or version told it.
 */
import { BODY_LIMITS } from './body-limits.ts';
import { detached } from './fields.ts';

/** No class could be read. */
const UNKNOWN_ERROR = 'unknown';

/** What a retry without an exception is counted under. */
const RETRY = 'Retry';

const CLASS_CHARS_MAX = BODY_LIMITS.error_type.max;
const TEXT_CHARS_MAX = BODY_LIMITS.exception.max;

/** A part of a dotted Python path. `<locals>` stands in those of nested classes. */
const PART = String.raw`(?:[\p{XIDS}_]\p{XIDC}*|<\p{XIDC}+>)`;
/** Nothing is asked of what follows, or a long path before something else would be looked at again and again. */
const PATH = new RegExp(String.raw`${PART}(?:\.${PART})*`, 'uy');
/** What follows the class in usual reprs of other classes, such as `<HttpError 404 …>`. */
const AFTER_ANGLED = /[\s:>(]/u;
/** kombu's word for an exception whose own repr fails (utils/encoding.py). */
const UNREPRESENTABLE = '<Unrepresentable ';
/** What Celery raises for a retry in every pool but prefork: the reason is its second argument. */
const RETRY_REASON = /^Retry\(Retry\(\.\.\.\), (.*)$/su;
/** `celery.exceptions.Reject`, as its repr is. */
const REJECT_REPR = /^reject requeue=/u;
/** billiard wraps what happened outside the task's own code so; the class is in the traceback only. */
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
  const ofTraceback = () => bounded(raisedLast(traceback)?.class);
  if (WRAPPED_REPR.test(repr)) return ofTraceback() ?? UNKNOWN_ERROR;
  // A repr of the user's own (`order 17: declined`) often begins with something that is no class, so it comes last.
  const first = pathAt(repr, 0);
  return classOfRepr(repr, first) ?? ofTraceback() ?? bounded(led(repr, first)?.class) ?? UNKNOWN_ERROR;
}

/** Whether the "failure" is a `Reject`: Celery 5.7 tells a rejection without requeue as a failure (PR #10369). */
export function isRejection(exception: unknown, traceback: unknown): boolean {
  if (typeof exception !== 'string') return false;
  if (REJECT_REPR.test(exception)) return true;
  // By its whole path: a user's class may be called so too.
  return WRAPPED_REPR.test(exception) && raisedLast(traceback)?.path === 'celery.exceptions.Reject';
}

interface Raised {
  /** `shop.orders.PaymentDeclined` */
  readonly path: string;
  /** `PaymentDeclined` */
  readonly class: string;
}

/** The path of a class at that place. */
function pathAt(text: string, at: number): Raised | undefined {
  PATH.lastIndex = at;
  const path = PATH.exec(text)?.[0];
  if (path === undefined) return undefined;
  const name = path.slice(path.lastIndexOf('.') + 1);
  return name.startsWith('<') ? undefined : { path, class: name };
}

/**
 * Either what `BaseException.__repr__` writes: `KeyError('k')`, `ExceptionGroup('two things', [ValueError('a')])`; or
 * `<HttpError 404 …>`, `<MaybeEncodingError: Error …`, `<shop.Declined object at 0x7f…>`.
 * @param first the path with which it begins
 */
function classOfRepr(repr: string, first: Raised | undefined): string | undefined {
  if (first !== undefined && repr[first.path.length] === '(') return bounded(first.class);
  if (!repr.startsWith('<') || repr.startsWith(UNREPRESENTABLE)) return undefined;
  const angled = pathAt(repr, 1);
  if (angled === undefined) return undefined;
  return AFTER_ANGLED.test(repr.charAt(1 + angled.path.length)) ? bounded(angled.class) : undefined;
}

/** A whole text or line with the class in front: `shop.PaymentDeclined: card declined`, or the class alone. */
function led(text: string, first: Raised | undefined): Raised | undefined {
  const rest = text.slice(first?.path.length);
  return rest.startsWith(':') || rest.trim() === '' ? first : undefined;
}

/** What Python's `traceback` writes above the frames of an exception, and between two that are chained. */
const HEADER = 'Traceback (most recent call last):\n';
const DURING = '\n\nDuring handling of the above exception, another exception occurred:\n\n';
const BECAUSE = '\n\nThe above exception was the direct cause of the following exception:\n\n';
/** The margin of an exception group's own frames; those of its members stand deeper. */
const GROUP_MARGIN = '  | ';
/** The end of the line before the first that is not indented, behind the margin. Lines are many: a loop would be slow. */
const END_OF_FRAMES = /\n(?! )/gu;
const END_OF_GROUP_FRAMES = /\n(?! {2}\| {2})/gu;

/**
 * The exception that a traceback is of: of chained ones the last, and its name is on the first line that is not
 * indented as frames are. The lines below belong to its message and notes, which may look like anything.
 */
function raisedLast(traceback: unknown): Raised | undefined {
  if (typeof traceback !== 'string') return undefined;
  const from = Math.max(0, traceback.lastIndexOf(DURING), traceback.lastIndexOf(BECAUSE));
  const header = traceback.indexOf(HEADER, from);
  let at = header < 0 ? from : header + HEADER.length;
  const margin = traceback.startsWith(GROUP_MARGIN, at) ? GROUP_MARGIN : '';
  if (traceback.startsWith(`${margin} `, at)) {
    const end = margin === '' ? END_OF_FRAMES : END_OF_GROUP_FRAMES;
    end.lastIndex = at;
    const found = end.exec(traceback);
    if (found === null) return undefined;
    at = found.index + 1;
  }
  at += margin.length;
  const [line = ''] = traceback.slice(at, at + TEXT_CHARS_MAX).split('\n', 1);
  return led(line, pathAt(line, 0));
}

function bounded(found: string | undefined): string | undefined {
  return found === undefined ? undefined : detached(found.slice(0, CLASS_CHARS_MAX).toWellFormed());
}
