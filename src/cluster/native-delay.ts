/**
 * Parses the routing key of native delayed delivery: the 28 bits of the countdown, one label each, then the task’s original
 * routing key (kombu: transport/native_delayed_delivery.py, `calculate_routing_key`).
 */

const DELAYED = /^(?:[01]\.){28}(.+)$/u;

/** The original routing key, which names the queue; undefined if the task is not delayed by the broker. */
export function delayedRoutingKey(routingKey: string): string | undefined {
  return DELAYED.exec(routingKey)?.[1];
}
