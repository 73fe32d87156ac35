/**
 * Keeps the spans of all traces, since it is unknown at first which one is wanted. If there are too many spans, it
 * drops the oldest other trace. It draws nothing.
 */
import type { Span } from '../tracer/span.ts';

const SPANS_MAX = 200_000;

export class KeptTraces {
  readonly #id: string;
  readonly #spansMax: number;
  readonly #byTrace = new Map<string, Span[]>();
  #traceId: string;
  #size = 0;

  /** @param id of a task, or of a trace */
  constructor(id: string, spansMax = SPANS_MAX) {
    [this.#id, this.#spansMax] = [id, spansMax];
    // The trace id of a root task is its task id without hyphens.
    this.#traceId = id.replaceAll('-', '').toLowerCase();
  }

  add(span: Span): void {
    if (span.attributes['messaging.message.id'] === this.#id) this.#traceId = span.traceId;
    // If the wanted trace alone is too large, only its first spans are kept.
    while (this.#size >= this.#spansMax) if (!this.#forgetOldest()) return;
    const spans = this.#byTrace.get(span.traceId) ?? [];
    spans.push(span);
    this.#byTrace.set(span.traceId, spans);
    this.#size += 1;
  }

  wanted(): readonly Span[] {
    return this.#byTrace.get(this.#traceId) ?? [];
  }

  /** Drops the oldest trace. @returns false if only the wanted trace is left */
  #forgetOldest(): boolean {
    for (const [traceId, spans] of this.#byTrace) {
      if (traceId === this.#traceId) continue;
      this.#byTrace.delete(traceId);
      this.#size -= spans.length;
      return true;
    }
    return false;
  }
}
