/** Encodes spans for OTLP (opentelemetry/proto/trace/v1/trace.proto). It does not shorten them. Pure. */
import type { Attributes, Span, SpanEvent, SpanKind, SpanLink } from '../../tracer/span.ts';
import { DOUBLE_ATTRIBUTES } from '../../tracer/span-attributes.ts';
import { writeAttributes, writeKeyValues } from './attribute-message.ts';
import { type MessageWriter, type NewWriter, writeList } from './message-writer.ts';
import { encodeItems, type RequestFields, type Resourced } from './otlp-request.ts';

const REQUEST: RequestFields = {
  resources: { tag: 0x0a, name: 'resourceSpans', width: 3, isRepeated: true },
  scopes: { tag: 0x12, name: 'scopeSpans', width: 3, isRepeated: true },
  items: { tag: 0x12, name: 'spans', width: 2, isRepeated: true },
};
const SPAN = {
  traceId: { tag: 0x0a, name: 'traceId' },
  spanId: { tag: 0x12, name: 'spanId' },
  traceState: { tag: 0x1a, name: 'traceState' },
  parentSpanId: { tag: 0x22, name: 'parentSpanId' },
  name: { tag: 0x2a, name: 'name' },
  kind: { tag: 0x30, name: 'kind' },
  startTimeUnixNano: { tag: 0x39, name: 'startTimeUnixNano' },
  endTimeUnixNano: { tag: 0x41, name: 'endTimeUnixNano' },
  attributes: { tag: 0x4a, name: 'attributes', width: 1, isRepeated: true },
  events: { tag: 0x5a, name: 'events', width: 2, isRepeated: true },
  links: { tag: 0x6a, name: 'links', width: 1, isRepeated: true },
  status: { tag: 0x7a, name: 'status', width: 1, isRepeated: false },
  flags: { tag: 0x85, name: 'flags' },
};
const STATUS = { message: { tag: 0x12, name: 'message' }, code: { tag: 0x18, name: 'code' } };
const EVENT = {
  timeUnixNano: { tag: 0x09, name: 'timeUnixNano' },
  name: { tag: 0x12, name: 'name' },
  attributes: { tag: 0x1a, name: 'attributes', width: 1, isRepeated: true },
};
const LINK = {
  traceId: { tag: 0x0a, name: 'traceId' },
  spanId: { tag: 0x12, name: 'spanId' },
  attributes: { tag: 0x22, name: 'attributes', width: 1, isRepeated: true },
  flags: { tag: 0x35, name: 'flags' },
};

const KINDS: Readonly<Record<SpanKind, number>> = { producer: 4, consumer: 5 };
const STATUS_ERROR = 2;
/** Span flags: whether the next flag is set correctly; whether the parent or the linked span is remote. */
const HAS_IS_REMOTE = 0x100;
const IS_REMOTE = 0x200;

export function encodeSpans(data: readonly Resourced<Span>[], newWriter: NewWriter): Uint8Array {
  return encodeItems(data, newWriter, REQUEST, writeSpan);
}

function writeSpan(writer: MessageWriter, span: Span): void {
  writer.hex(SPAN.traceId, span.traceId);
  writer.hex(SPAN.spanId, span.spanId);
  if (span.traceState !== '') writer.text(SPAN.traceState, span.traceState);
  if (span.parentSpanId !== '') writer.hex(SPAN.parentSpanId, span.parentSpanId);
  writer.text(SPAN.name, span.name);
  writer.int(SPAN.kind, KINDS[span.kind]);
  writer.time(SPAN.startTimeUnixNano, span.startMs);
  writer.time(SPAN.endTimeUnixNano, span.endMs);
  writer.openList(SPAN.attributes);
  writer.shared(span.shared, writeShared);
  writeKeyValues(writer, SPAN.attributes, span.attributes, DOUBLE_ATTRIBUTES);
  writer.closeList();
  writeList(writer, SPAN.events, span.events, writeEvent);
  writeList(writer, SPAN.links, span.links, writeLink);
  const status = writer.open(SPAN.status);
  if (span.error !== undefined) {
    writer.text(STATUS.message, span.error.description);
    writer.int(STATUS.code, STATUS_ERROR);
  }
  writer.close(SPAN.status, status);
  const isRemote = span.parentSpanId !== '' && span.isParentRemote;
  writer.fixed32(SPAN.flags, span.flags | HAS_IS_REMOTE | (isRemote ? IS_REMOTE : 0));
}

function writeShared(writer: MessageWriter, shared: Attributes): void {
  writeKeyValues(writer, SPAN.attributes, shared);
}

function writeEvent(writer: MessageWriter, { name, timeMs, attributes }: SpanEvent): void {
  writer.time(EVENT.timeUnixNano, timeMs);
  writer.text(EVENT.name, name);
  writeAttributes(writer, EVENT.attributes, attributes);
}

function writeLink(writer: MessageWriter, { traceId, spanId, attributes }: SpanLink): void {
  writer.hex(LINK.traceId, traceId);
  writer.hex(LINK.spanId, spanId);
  writeAttributes(writer, LINK.attributes, attributes);
  writer.fixed32(LINK.flags, HAS_IS_REMOTE);
}
