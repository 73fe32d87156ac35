/** Makes the recording of a service replay without waiting. It changes no other service. */
import { kindOf } from '../broker/kinds.ts';
import type { ServiceConfig } from '../config/config.ts';

/** Use it for commands that read a recording to its end. */
export function atFullSpeed(service: ServiceConfig): ServiceConfig {
  const [first, ...others] = service.broker.urls;
  return {
    ...service,
    broker: { ...service.broker, urls: [kindOf(first).atFullSpeed(first), ...others] },
  };
}
