/**
 * Tracks which tasks of one trace were sent or received and have not ended, from events and spans. It keeps no events.
 */
import type { CeleryEvent } from '../celery/event.ts';
import type { Span } from '../tracer/span.ts';
import { traceOrigin } from '../tracer/trace-origin.ts';

const OPEN_MAX = 10_000;

export class OpenTasks {
  readonly #id: string;
  readonly #join: boolean;
  readonly #open = new Set<string>();
  #traceId: string;

  /**
   * @param id of a task, or of a trace
   * @param join whether a `root_id` that is a traceparent names the trace
   */
  constructor(id: string, join: boolean) {
    [this.#id, this.#join] = [id, join];
    this.#traceId = this.#traceIdOf(id, id);
  }

  get size(): number {
    return this.#open.size;
  }

  note(event: CeleryEvent): void {
    switch (event.type) {
      case 'task-sent':
      case 'task-received': {
        const traceId = this.#traceIdOf(event.extras?.lineage?.rootId ?? '', event.uuid);
        if (event.uuid === this.#id) this.#traceId = traceId;
        if (traceId === this.#traceId && this.#open.size < OPEN_MAX) this.#open.add(event.uuid);
        return;
      }
      case 'task-succeeded':
      case 'task-failed':
      case 'task-revoked':
        this.#open.delete(event.uuid);
        return;
      case 'task-rejected':
        if (!event.requeue) this.#open.delete(event.uuid);
        return;
      default:
    }
  }

  /** Handles the span of a task that ended without an event: as lost or unknown. */
  noteSpan({ attributes }: Span): void {
    const { 'messaging.message.id': uuid, 'celery.task.outcome': outcome } = attributes;
    if (typeof uuid === 'string' && (outcome === 'lost' || outcome === 'unknown')) this.#open.delete(uuid);
  }

  #traceIdOf(rootId: string, uuid: string): string {
    return traceOrigin(rootId, uuid, this.#join).traceId;
  }
}
