/**
 * Reads the routing keys of kombu’s native delayed delivery (transport/native_delayed_delivery.py), which contain the delay
 * and the original key. Pure; it does not read the delay.
 */

/** A routing key of delayed delivery: the 28 bits of the delay, each between dots, then the original routing key. */
const DELAYED = /^(?:[01]\.){28}(.+)$/u;

/** The original routing key, which names the queue; undefined if the message is not delayed. */
export function undelayedKey(routingKey: string): string | undefined {
  return DELAYED.exec(routingKey)?.[1];
}
