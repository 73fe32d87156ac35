/** Makes the span event for the exception of a run that ended with an error. Pure. */
import type { ErrorTexts } from '../celery/event.ts';
import { boundedText, presentValue } from './attribute-reading.ts';
import type { AttributeValue, SpanEvent } from './span.ts';

/**
 * @param error already redacted
 * @param errorType the class of the exception, for a traceback that does not contain its module
 */
export function exceptionEvent(
  error: ErrorTexts,
  errorType: string,
  { timeMs, max }: { readonly timeMs: number; readonly max: number | undefined },
): SpanEvent {
  const attributes: Record<string, AttributeValue> = {};
  const texts = {
    'exception.type': error.path || errorType,
    'exception.message': error.message,
    'exception.stacktrace': error.stacktrace,
  };
  for (const [key, text] of Object.entries(texts)) {
    if (presentValue(text) !== undefined) attributes[key] = boundedText(text, max);
  }
  return { name: 'exception', timeMs, attributes };
}
