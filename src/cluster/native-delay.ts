/**
 * Reads the routing key that native delayed delivery writes: 28 bits of the countdown, a label each, and then the routing
 * key that the task had (kombu: transport/native_delayed_delivery.py, `calculate_routing_key`).
 */

const DELAYED = /^(?:[01]\.){28}(.+)$/u;

/** The routing key behind the bits, which names the queue; undefined where the task is not held back by the broker. */
export function delayedRoutingKey(routingKey: string): string | undefined {
  return DELAYED.exec(routingKey)?.[1];
}
