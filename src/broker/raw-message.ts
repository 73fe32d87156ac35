/** A message as a broker delivers it, over any transport. Types only. */

/** One message as the broker delivered it; its body is not decoded yet. */
export interface RawMessage {
  /** When the message arrived, epoch ms, by the clock of the transport that delivered it. */
  readonly arrivedAtMs: number;
  readonly exchange: string;
  readonly routingKey: string;
  /** `content_type` property, e.g. `application/json`; '' if absent. */
  readonly contentType: string;
  /** `content_encoding` property, e.g. `utf-8`; '' if absent. */
  readonly contentEncoding: string;
  /**
   * Message headers as decoded from the wire: never trusted, never copied onto an object. Undefined if they cannot be
   * decoded; then content type and encoding are unknown, too.
   */
  readonly headers: Readonly<Record<string, unknown>> | undefined;
  /** The bytes of the body; undefined if it exceeded the size limit and was dropped on arrival. */
  readonly body: Buffer | undefined;
}
