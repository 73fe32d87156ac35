/** Makes the resource of a Celery service, or of the bridge itself. */
import type { AttributeValue } from '@opentelemetry/api';
import { defaultResource, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { SCHEMA_URL } from './encode/schema-url.ts';

export type ResourceAttributes = Readonly<Record<string, AttributeValue>>;

/**
 * Merges the attributes of the SDK (`telemetry.sdk.*`), those of the user, and `service.name`, which takes precedence. It runs no
 * resource detectors, because a Celery service does not run on this host or in this process.
 */
export function serviceResource(serviceName: string, attributes: ResourceAttributes): Resource {
  const own = { ...attributes, 'service.name': serviceName };
  return defaultResource().merge(resourceFromAttributes(own, { schemaUrl: SCHEMA_URL }));
}
