/**
 * Decides which tasks begin a new trace, so that no trace grows without bound: by the delay of the task, by its name, and by
 * the size and age of the trace that it would join. It remembers a bounded number of traces with several tasks. The count of a
 * forgotten trace starts again.
 */

import { safeKey } from '../text/safe-key.ts';
import { wildcard } from '../text/wildcard.ts';
import type { NewTask } from './ancestry/finished.ts';
import { hashedId, TRACE_DIGITS } from './hashed-id.ts';
import type { TraceSettings } from './trace-settings.ts';

/** Traces in each of two generations: when the young generation is full, the old one is forgotten. */
const TRACES_MAX = 5_000;
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
  /** By `traceRootId`. */
  #young = new Map<string, KnownTrace>();
  #old = new Map<string, KnownTrace>();

  constructor(settings: TraceSettings) {
    this.#settings = settings;
    this.#patterns = settings.newTraceFor.map((pattern) => wildcard(pattern));
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Whether the task begins a new trace. If not, it counts as one more span of the trace that it joins. */
  beginsTrace({ name, traceRootId, delayMs, atMs }: NewTask): boolean {
    const { maxDelayMs, maxSpans, maxAgeMs } = this.#settings;
    if (delayMs > maxDelayMs || this.#patterns.some((matches) => matches(name))) return true;
    const key = keyOf(traceRootId);
    const trace = this.#find(key) ?? { spans: 1, sinceMs: atMs };
    this.#remember(key, trace);
    if (trace.spans >= maxSpans || atMs - trace.sinceMs > maxAgeMs) return true;
    trace.spans += 1;
    return false;
  }

  /** Counts the spans of a task after its first: its sending, and further runs. Spans count even if they are not sampled. */
  add(traceRootId: string, spans: number): void {
    const trace = spans > 0 && this.size > 0 ? this.#find(keyOf(traceRootId)) : undefined;
    if (trace !== undefined) trace.spans += spans;
  }

  #find(key: string): KnownTrace | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  #remember(key: string, trace: KnownTrace): void {
    this.#old.delete(key);
    this.#young.set(key, trace);
    if (this.#young.size < TRACES_MAX) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}

function keyOf(traceRootId: string): string {
  return traceRootId.length > KEY_LENGTH_MAX ? hashedId(traceRootId, TRACE_DIGITS) : safeKey(traceRootId);
}
