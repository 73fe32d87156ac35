/** The resource of a Celery service, or of the bridge itself. */
import type { AttributeValue } from '@opentelemetry/api';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';

export type ResourceAttributes = Readonly<Record<string, AttributeValue>>;

/**
 * The SDK's attributes (`telemetry.sdk.*`), the user's, and `service.name`, which overrides one of the user's. No resource
 * detectors: a Celery service does not run on this host or in this process.
 */
export function serviceResource(serviceName: string, attributes: ResourceAttributes): Resource {
  return defaultResource().merge(resourceFromAttributes({ ...attributes, 'service.name': serviceName }));
}
