/**
 * Decides which tasks begin a new trace, so that no trace grows without bound: by the delay of the task, by its name, and by
 * the size and age of the trace that it would join. It remembers a bounded number of traces with several tasks. The count of a
 * forgotten trace starts again.
 */

import { RecentKeys } from '../text/recent-keys.ts';
import { safeKey } from '../text/safe-key.ts';
import { wildcard } from '../text/wildcard.ts';
import type { NewTask } from './ancestry/finished.ts';
import { hashedId, TRACE_DIGITS } from './hashed-id.ts';
import type { TraceSettings } from './trace-settings.ts';

/** How many traces are remembered at least. */
const TRACES_AT_LEAST = 5_000;
/** Longest key; longer ids are hashed. */
const KEY_LENGTH_MAX = 64;

interface KnownTrace {
  spans: number;
  /** When the first task besides the root was sent. */
  readonly sinceMs: number;
}

export class TraceBounds {
  readonly #settings: TraceSettings;
  readonly #patterns: readonly ((name: string) => boolean)[];
  /** By the key of `traceRootId`. */
  readonly #traces = new RecentKeys<KnownTrace>(TRACES_AT_LEAST);

  constructor(settings: TraceSettings) {
    this.#settings = settings;
    this.#patterns = settings.newTraceFor.map((pattern) => wildcard(pattern));
  }

  get size(): number {
    return this.#traces.size;
  }

  /** Whether the task begins a new trace. If not, it counts as one more span of the trace that it joins. */
  beginsTrace({ name, traceRootId, delayMs, atMs }: NewTask): boolean {
    const { maxDelayMs, maxSpans, maxAgeMs } = this.#settings;
    if (delayMs > maxDelayMs || this.#patterns.some((matches) => matches(name))) return true;
    const key = traceKey(traceRootId);
    const trace = this.#traces.get(key) ?? { spans: 1, sinceMs: atMs };
    this.#traces.set(key, trace);
    if (trace.spans >= maxSpans || atMs - trace.sinceMs > maxAgeMs) return true;
    trace.spans += 1;
    return false;
  }

  /** Counts the spans of a task after its first: its sending, and further runs. Spans count even if they are not sampled. */
  add(traceRootId: string, spans: number): void {
    const trace = spans > 0 && this.size > 0 ? this.#traces.get(traceKey(traceRootId)) : undefined;
    if (trace !== undefined) trace.spans += spans;
  }
}

/** A safe key of bounded length for the id from which a trace is derived. */
export function traceKey(traceRootId: string): string {
  return traceRootId.length > KEY_LENGTH_MAX ? hashedId(traceRootId, TRACE_DIGITS) : safeKey(traceRootId);
}
