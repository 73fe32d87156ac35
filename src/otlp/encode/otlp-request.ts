/**
 * The frame of a request, which is the same for all signals: by resource, and by scope. That of spans and log records is this
 * package. Pure.
 */
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import { VERSION } from '../../self/version.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Items of one resource. */
export interface Resourced<Item> {
  readonly resource: Resource;
  readonly items: readonly Item[];
}

/** One object: the SDK’s serializers group by its identity. */
export const SCOPE: InstrumentationScope = { name: 'celery-otel', version: VERSION };

/** More than most items take. The buffer grows if they take more. */
const ITEM_BYTES = 1024;

/** `ExportTraceServiceRequest` and `ExportLogsServiceRequest` differ in the items only. */
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

/** @param write writes what is of it, scope by scope */
export function writeResource(writer: ProtobufWriter, resource: Resource, write: () => void): void {
  const ofResource = writer.open(0x0a, 3);
  const described = writer.open(0x0a);
  writer.attributes(0x0a, resource.attributes);
  writer.close(described);
  write();
  if (resource.schemaUrl !== undefined) writer.text(0x1a, resource.schemaUrl);
  writer.close(ofResource, 3);
}

/** @param write writes what is of it, each as field 2 */
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
