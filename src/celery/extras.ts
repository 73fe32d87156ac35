/**
 * Reads the fields that only traces and logs need: root and parent, exceptions, arguments. All are untrusted texts, and are
 * bounded. It changes nothing else in an event.
 */
import { isJsonObject } from '../text/json-structure.ts';
import { BODY_LIMITS } from './body-limits.ts';
import { errorTexts } from './error-texts.ts';
import type { ArgumentTexts, CeleryEvent, Extras, Lineage, TaskEvent } from './event.ts';
import { identifier, name, type RawFields } from './fields.ts';

/** Which optional fields and events to read. */
export interface DecodeWants {
  /** Root and parent tasks, and exchanges. */
  readonly lineage: boolean;
  /** Messages and tracebacks of exceptions. */
  readonly errors: boolean;
  /** Reprs of arguments and results. */
  readonly arguments: boolean;
  /** The event `task-traced`, which names the span in which a worker runs a task. */
  readonly traced: boolean;
}

const REPR_CHARS_MAX = BODY_LIMITS.message.max;

/** @param raw the parsed JSON that the event was read from */
export function withExtras(event: CeleryEvent, raw: unknown, wants: DecodeWants): CeleryEvent {
  const isAny = wants.lineage || wants.errors || wants.arguments;
  if (!(isAny && 'uuid' in event && isJsonObject(raw))) return event;
  const extras = extrasOf(event, raw, wants);
  return extras === undefined ? event : { ...event, extras };
}

function extrasOf(event: TaskEvent, raw: RawFields, wants: DecodeWants): Extras | undefined {
  // A copy of the event for nothing would cost as much as to read it.
  const isOfOrigin = wants.lineage || wants.arguments;
  switch (event.type) {
    case 'task-sent':
      if (!isOfOrigin) return undefined;
      return {
        ...(wants.lineage && { lineage: lineageOf(raw), exchange: name(raw['exchange']) }),
        ...(wants.arguments && { arguments: argumentsOf(raw) }),
      };
    case 'task-received':
      if (!isOfOrigin) return undefined;
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
