/** Makes the resource of a Celery service, or of the bridge itself. */
import type { AttributeValue } from '@opentelemetry/api';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';

export type ResourceAttributes = Readonly<Record<string, AttributeValue>>;

/**
 * Merges the attributes of the SDK (`telemetry.sdk.*`), those of the user, and `service.name`, which takes precedence. It runs no
 * resource detectors, because a Celery service does not run on this host or in this process.
 */
export function serviceResource(serviceName: string, attributes: ResourceAttributes): Resource {
  return defaultResource().merge(resourceFromAttributes({ ...attributes, 'service.name': serviceName }));
}
