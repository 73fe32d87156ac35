/** A span, independent of encoding and transport. Types only. Times are epoch ms, with fractions. */

export type AttributeValue = string | number | boolean;
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** PRODUCER for `send`, CONSUMER for `process` (semantic conventions, messaging spans). */
export type SpanKind = 'producer' | 'consumer';

export interface SpanLink {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** An exception. It is a span event only if no log record reports it. */
export interface SpanEvent {
  readonly name: string;
  readonly timeMs: number;
  readonly attributes: Attributes;
}

export interface Span {
  readonly name: string;
  readonly kind: SpanKind;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** '' for the root of a trace. */
  readonly parentSpanId: string;
  /** Whether the parent is a span of another program. */
  readonly isParentRemote: boolean;
  /** W3C trace flags: 1 sampled, 2 random. */
  readonly flags: number;
  /** W3C trace state, such as `ot=th:8`; '' if empty. */
  readonly traceState: string;
  readonly startMs: number;
  readonly endMs: number;
  /** Present if the status is ERROR; otherwise the status is unset. */
  readonly error: { readonly description: string } | undefined;
  /** Attributes that many spans share. They all have the same object, so that an encoder can cache its encoding. */
  readonly shared: Attributes;
  readonly attributes: Attributes;
  readonly links: readonly SpanLink[];
  readonly events: readonly SpanEvent[];
  /** `service.name` of its resource; undefined: that of the service. */
  readonly serviceName?: string;
}
