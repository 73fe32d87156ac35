/** Composes `messaging.destination.name`, as the semantic conventions for RabbitMQ define it. Pure. */
import type { SentFacts } from './ancestry/finished.ts';

/** The label of an unknown queue on metrics. Span attributes omit it. */
const UNKNOWN = 'unknown';

/**
 * For the default exchange: the queue. For any other: `exchange:key` of a sending, `exchange:key:queue` of a run. Equal parts
 * appear once.
 * @param sent undefined if no `task-sent` was received
 * @param consumedQueue of a run; undefined for a sending
 */
export function destinationName(sent: SentFacts | undefined, consumedQueue: string | undefined): string {
  const queue = consumedQueue ?? sent?.queue ?? '';
  const knownQueue = queue === UNKNOWN ? '' : queue;
  if (sent === undefined || sent.exchange === '') return knownQueue;
  const parts = [sent.exchange, sent.routingKey, consumedQueue === undefined ? '' : knownQueue];
  return [...new Set(parts.filter((part) => part !== ''))].join(':');
}
