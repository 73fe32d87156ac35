/**
 * Native delayed delivery, as kombu does it (transport/native_delayed_delivery.py): what a routing key contains besides the delay.
 * Pure; it keeps nothing.
 */

/** The 28 bits of the countdown, one label each, then the original routing key. */
const DELAYED = /^(?:[01]\.){28}(.+)$/u;

/** The original routing key, which names the queue; undefined if the message is not delayed. */
export function undelayedKey(routingKey: string): string | undefined {
  return DELAYED.exec(routingKey)?.[1];
}
