/** The exception of a run that ended with an error, as a span event. Pure. */
import type { ErrorTexts } from '../celery/event.ts';
import { boundedText, presentValue } from './attribute-reading.ts';
import type { AttributeValue, SpanEvent } from './span.ts';

/**
 * @param error already redacted
 * @param errorType its class where the traceback does not say the module
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
