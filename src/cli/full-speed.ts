/** Makes the recording of a service replay without waiting. It changes no other service. */
import type { ServiceConfig } from '../config/config.ts';

/** Use it for commands that read a recording to its end. */
export function atFullSpeed(service: ServiceConfig): ServiceConfig {
  const [first, ...others] = service.broker.urls;
  if (first.scheme !== 'recording') return service;
  return {
    ...service,
    broker: { ...service.broker, urls: [{ ...first, speed: Number.POSITIVE_INFINITY }, ...others] },
  };
}
