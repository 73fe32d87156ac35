/**
 * Native delayed delivery, as kombu does it (transport/native_delayed_delivery.py): what a routing key says beside the delay.
 * Pure; it keeps nothing.
 */

/** The 28 bits of the countdown, one label each, then the original routing key. */
const DELAYED = /^(?:[01]\.){28}(.+)$/u;

/** The original routing key, which names the queue; undefined if it is not one of a delayed message. */
export function undelayedKey(routingKey: string): string | undefined {
  return DELAYED.exec(routingKey)?.[1];
}
