/**
 * Reads the fields that only traces and logs need: the ids of root and parent tasks, exceptions, arguments and results. It
 * bounds these untrusted texts, and changes nothing else in an event.
 */
import { isJsonObject } from '../text/json-structure.ts';
import { BODY_LIMITS } from './body-limits.ts';
import { errorTexts } from './error-texts.ts';
import type { ArgumentTexts, CeleryEvent, Extras, Lineage, TaskEvent } from './event.ts';
import { identifier, name, type RawFields } from './fields.ts';

/** Which optional fields and events to read. */
export interface DecodeWants {
  /** The ids of root and parent tasks, and the exchanges of `task-sent`. */
  readonly lineage: boolean;
  /** Messages and tracebacks of exceptions. */
  readonly errors: boolean;
  /** Reprs of arguments and results. */
  readonly arguments: boolean;
  /** The event `task-traced`, which names the span in which a worker runs a task. */
  readonly traced: boolean;
}

/** UTF-16 units of a repr of arguments or of a result; a longer one is cut. */
const REPR_CHARS_MAX = BODY_LIMITS.message.max;

/** @param raw the parsed JSON that the event was read from */
export function withExtras(event: CeleryEvent, raw: unknown, wants: DecodeWants): CeleryEvent {
  const wantsAny = wants.lineage || wants.errors || wants.arguments;
  if (!(wantsAny && 'uuid' in event && isJsonObject(raw))) return event;
  const extras = extrasOf(event, raw, wants);
  return extras === undefined ? event : { ...event, extras };
}

function extrasOf(event: TaskEvent, raw: RawFields, wants: DecodeWants): Extras | undefined {
  // Without wanted fields it returns undefined: a needless copy of the event would cost as much as reading it.
  const wantsSending = wants.lineage || wants.arguments;
  switch (event.type) {
    case 'task-sent':
      if (!wantsSending) return undefined;
      return {
        ...(wants.lineage && { lineage: lineageOf(raw), exchange: name(raw['exchange']) }),
        ...(wants.arguments && { arguments: argumentsOf(raw) }),
      };
    case 'task-received':
      if (!wantsSending) return undefined;
      return {
        ...(wants.lineage && { lineage: lineageOf(raw) }),
        ...(wants.arguments && { arguments: argumentsOf(raw) }),
      };
    case 'task-failed':
    case 'task-retried':
      return wants.errors
        ? { error: errorTexts(raw['exception'], raw['traceback'], event.errorType) }
        : undefined;
    case 'task-succeeded':
      return wants.arguments ? { result: name(raw['result'], REPR_CHARS_MAX) } : undefined;
    default:
      return undefined;
  }
}

function lineageOf(raw: RawFields): Lineage {
  return { rootId: identifier(raw['root_id']), parentId: identifier(raw['parent_id']) };
}

function argumentsOf(raw: RawFields): ArgumentTexts {
  return { args: name(raw['args'], REPR_CHARS_MAX), kwargs: name(raw['kwargs'], REPR_CHARS_MAX) };
}
