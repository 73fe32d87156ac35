/**
 * Encodes the parts of a request that all signals share: resources and scopes. It knows no items. The scope of spans and log
 * records is this package. Pure.
 */
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import { VERSION } from '../../self/version.ts';
import { writeAttributes } from './attribute-message.ts';
import { type MessageField, type MessageWriter, type NewWriter, writeList } from './message-writer.ts';
import { SCHEMA_URL } from './schema-url.ts';

/** Items of one resource. */
export interface Resourced<Item> {
  readonly resource: Resource;
  readonly items: readonly Item[];
}

/** Items of one resource, by scope. */
interface Scoped<Item> {
  readonly resource: Resource;
  readonly scopes: readonly { readonly scope: InstrumentationScope; readonly items: readonly Item[] }[];
}

/** The fields of a request whose names depend on the signal: each is a list within the one before it. */
export interface RequestFields {
  readonly resources: MessageField;
  readonly scopes: MessageField;
  readonly items: MessageField;
}

/** The other fields, of a resource or a scope with its items, and of both alone. */
const OF_RESOURCE = {
  resource: { tag: 0x0a, name: 'resource', width: 1, isRepeated: false },
  schemaUrl: { tag: 0x1a, name: 'schemaUrl' },
};
const OF_SCOPE = {
  scope: { tag: 0x0a, name: 'scope', width: 1, isRepeated: false },
  schemaUrl: { tag: 0x1a, name: 'schemaUrl' },
};
const RESOURCE = {
  attributes: { tag: 0x0a, name: 'attributes', width: 1, isRepeated: true },
  droppedAttributesCount: { tag: 0x10, name: 'droppedAttributesCount' },
};
const SCOPE_FIELDS = { name: { tag: 0x0a, name: 'name' }, version: { tag: 0x12, name: 'version' } };

/** Always the same object, because the SDK’s serializers group items by its identity. */
export const SCOPE = {
  name: 'celery-otel',
  version: VERSION,
  schemaUrl: SCHEMA_URL,
} as const satisfies InstrumentationScope;

/** The initial buffer size per item, which is enough for most. The buffer grows if needed. */
const ITEM_BYTES = 1024;

/**
 * Writes an `ExportTraceServiceRequest` or those of the other signals, which differ only in the names of their fields and in their
 * items.
 */
export function writeRequest<Item>(
  writer: MessageWriter,
  fields: RequestFields,
  data: readonly Scoped<Item>[],
  write: (writer: MessageWriter, item: Item) => void,
): void {
  writeList(writer, fields.resources, data, (_, { resource, scopes }) => {
    const described = writer.open(OF_RESOURCE.resource);
    writeAttributes(writer, RESOURCE.attributes, resource.attributes);
    // As the SDK does.
    writer.int(RESOURCE.droppedAttributesCount, 0);
    writer.close(OF_RESOURCE.resource, described);
    writeList(writer, fields.scopes, scopes, (__, { scope, items }) => {
      writeScope(writer, scope);
      writeList(writer, fields.items, items, write);
      if (scope.schemaUrl !== undefined) writer.text(OF_SCOPE.schemaUrl, scope.schemaUrl);
    });
    if (resource.schemaUrl !== undefined) writer.text(OF_RESOURCE.schemaUrl, resource.schemaUrl);
  });
}

function writeScope(writer: MessageWriter, { name, version }: InstrumentationScope): void {
  const described = writer.open(OF_SCOPE.scope);
  writer.text(SCOPE_FIELDS.name, name);
  if (version !== undefined) writer.text(SCOPE_FIELDS.version, version);
  writer.close(OF_SCOPE.scope, described);
}

/** Encodes spans or log records. */
export function encodeItems<Item>(
  data: readonly Resourced<Item>[],
  newWriter: NewWriter,
  fields: RequestFields,
  write: (writer: MessageWriter, item: Item) => void,
): Uint8Array {
  const writer = newWriter(ITEM_BYTES * (data.length + countOf(data)));
  const scoped = data.map(({ resource, items }) => ({ resource, scopes: [{ scope: SCOPE, items }] }));
  writeRequest(writer, fields, scoped, write);
  return writer.finish();
}

export function countOf(data: readonly Resourced<unknown>[]): number {
  return data.reduce((sum, { items }) => sum + items.length, 0);
}
