/** Whom the metrics are about: the resource of a Celery service, and of the bridge itself. */
import type { AttributeValue } from '@opentelemetry/api';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';

export type ResourceAttributes = Readonly<Record<string, AttributeValue>>;

/**
 * The SDK's own attributes (`telemetry.sdk.*`), the user's, and `service.name`, which wins over one among the user's.
 * Nothing is detected: a Celery service does not run on this host, in this process or under this version.
 */
export function serviceResource(serviceName: string, attributes: ResourceAttributes): Resource {
  return defaultResource().merge(resourceFromAttributes({ ...attributes, 'service.name': serviceName }));
}
