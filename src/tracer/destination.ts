/** `messaging.destination.name`, by the conventions for RabbitMQ. Pure. */
import type { SentFacts } from './ancestry/finished.ts';

/** As on the metrics; here it is left out. */
const UNKNOWN = 'unknown';

/**
 * The queue; with an exchange that is not the default one `exchange:key`, and `exchange:key:queue` where it is consumed. Equal
 * parts are there once.
 * @param sent undefined if it is not known how it was sent
 */
export function destinationName(sent: SentFacts | undefined, consumedQueue: string | undefined): string {
  const queue = consumedQueue ?? sent?.queue ?? '';
  const knownQueue = queue === UNKNOWN ? '' : queue;
  if (sent === undefined || sent.exchange === '') return knownQueue;
  const parts = [sent.exchange, sent.routingKey, consumedQueue === undefined ? '' : knownQueue];
  return [...new Set(parts.filter((part) => part !== ''))].join(':');
}
