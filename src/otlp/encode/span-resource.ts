/**
 * Gives spans that have a `service.name` of their own a resource with it: that of their service, with nothing else replaced. It
 * does not decide which spans have one. Pure, except that it keeps these resources as long as that of their service exists.
 */
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { Span } from '../../tracer/span.ts';
import type { Resourced } from './otlp-request.ts';

const SERVICE_NAME = 'service.name';

/** By name, of which there are no more than rules. The SDK’s serializers group spans by the identity of their resource. */
const renamed = new WeakMap<Resource, Map<string, Resource>>();

/** @param resource that of the service */
export function resourceOf({ serviceName }: Span, resource: Resource): Resource {
  if (serviceName === undefined || serviceName === resource.attributes[SERVICE_NAME]) return resource;
  const byName = renamed.get(resource) ?? new Map<string, Resource>();
  renamed.set(resource, byName);
  const known = byName.get(serviceName);
  if (known !== undefined) return known;
  const made = resource.merge(resourceFromAttributes({ [SERVICE_NAME]: serviceName }));
  byName.set(serviceName, made);
  return made;
}

/** The spans of a service, by resource. Without names of their own, it is the same object. */
export function byResource(of: Resourced<Span>): readonly Resourced<Span>[] {
  if (of.items.every(({ serviceName }) => serviceName === undefined)) return [of];
  const parts = new Map<Resource, Span[]>();
  for (const span of of.items) {
    const resource = resourceOf(span, of.resource);
    const part = parts.get(resource);
    if (part === undefined) parts.set(resource, [span]);
    else part.push(span);
  }
  return Array.from(parts, ([resource, items]) => ({ resource, items }));
}
