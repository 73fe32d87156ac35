/** Opens the listener of a service, or of a recording of its messages, with the common limits. It reads no message. */
import type { BrokerSettings } from '../broker/broker.ts';
import { type Listener, type ListenOptions, listen } from '../broker/session/session-loop.ts';
import { BODY_LIMITS } from '../celery/body-limits.ts';

export interface OpenListenerOptions
  extends Omit<ListenOptions, keyof BrokerSettings | 'service' | 'bodyBytesMax'> {
  /** The name of the service in self events. */
  readonly name: string;
  readonly broker: BrokerSettings;
}

export function openListener({ name, broker, ...options }: OpenListenerOptions): Listener {
  return listen({ ...broker, ...options, service: name, bodyBytesMax: BODY_LIMITS.body.max });
}
