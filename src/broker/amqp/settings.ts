/** The settings of AMQP brokers. Types only. */
import type { ManagementUrl } from './management-url.ts';
import type { LoginMethod } from './url.ts';

export interface AmqpSettings {
  /** Celery's `event_queue_prefix`, default `celeryev`. */
  readonly eventQueuePrefix: string;
  /** The most bytes that our queue may hold at the broker. */
  readonly eventQueueBytesMax: number;
  /** The heartbeat interval proposed to the broker, which may lower it, seconds; 0 disables heartbeats. */
  readonly heartbeatS: number;
  /** The SASL mechanism for addresses without `login_method`; by default PLAIN. */
  readonly loginMethod?: LoginMethod;
  /** The management API, which lists the queues; undefined: only queues that are known by name are polled. */
  readonly managementUrl?: ManagementUrl | undefined;
}
