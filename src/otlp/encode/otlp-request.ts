/**
 * Encodes the parts of a request that all signals share: resources and scopes. The scope of spans and log records is this
 * package. Pure.
 */
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import { VERSION } from '../../self/version.ts';
import { ProtobufWriter } from './protobuf-writer.ts';
import { SCHEMA_URL } from './schema-url.ts';

/** Items of one resource. */
export interface Resourced<Item> {
  readonly resource: Resource;
  readonly items: readonly Item[];
}

/** Always the same object, because the SDK’s serializers group items by its identity. */
export const SCOPE = {
  name: 'celery-otel',
  version: VERSION,
  schemaUrl: SCHEMA_URL,
} as const satisfies InstrumentationScope;

/** The initial buffer size per item, which is enough for most. The buffer grows if needed. */
const ITEM_BYTES = 1024;

/** Encodes an `ExportTraceServiceRequest` or `ExportLogsServiceRequest`, which differ only in their items. */
export function encodeRequest<Item>(
  data: readonly Resourced<Item>[],
  write: (writer: ProtobufWriter, item: Item) => void,
): Uint8Array {
  const writer = new ProtobufWriter(ITEM_BYTES * (data.length + countOf(data)));
  for (const { resource, items } of data) {
    writeResource(writer, resource, () => {
      writeScope(writer, SCOPE, () => {
        for (const item of items) write(writer, item);
      });
    });
  }
  return writer.finish();
}

/** @param write writes the scopes of the resource */
export function writeResource(writer: ProtobufWriter, resource: Resource, write: () => void): void {
  const ofResource = writer.open(0x0a, 3);
  const described = writer.open(0x0a);
  writer.attributes(0x0a, resource.attributes);
  writer.close(described);
  write();
  if (resource.schemaUrl !== undefined) writer.text(0x1a, resource.schemaUrl);
  writer.close(ofResource, 3);
}

/** @param write writes the items of the scope, each as field 2 */
export function writeScope(
  writer: ProtobufWriter,
  { name, version, schemaUrl }: InstrumentationScope,
  write: () => void,
): void {
  const ofScope = writer.open(0x12, 3);
  const described = writer.open(0x0a);
  writer.text(0x0a, name);
  if (version !== undefined) writer.text(0x12, version);
  writer.close(described);
  write();
  if (schemaUrl !== undefined) writer.text(0x1a, schemaUrl);
  writer.close(ofScope, 3);
}

export function countOf(data: readonly Resourced<unknown>[]): number {
  return data.reduce((sum, { items }) => sum + items.length, 0);
}
