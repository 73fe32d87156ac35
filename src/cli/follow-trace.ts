/**
 * Follows the trace of one task in one Celery service: listens to its events, and keeps the spans that are made from
 * them. It exports, polls and prints nothing.
 */

import { isReplay } from '../broker/kinds.ts';
import type { Transports } from '../broker/transports.ts';
import type { ServiceConfig, TracesConfig } from '../config/config.ts';
import type { EventSink } from '../self/self-event.ts';
import { openService } from '../service/service.ts';
import { createYieldToLoop } from '../timing/cooperative.ts';
import type { Span } from '../tracer/span.ts';
import type { TraceSettings } from '../tracer/trace-settings.ts';
import { KeptTraces } from './kept-traces.ts';
import { OpenTasks } from './open-tasks.ts';

export interface FollowOptions {
  /** The id of a task, or of a trace. */
  readonly id: string;
  /** Must have a sampler that keeps all spans. */
  readonly settings: TraceSettings;
  /** Which texts of exceptions are shown. */
  readonly exceptions: TracesConfig['exceptions'];
  readonly report: EventSink;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** For tests; by default all transports. */
  readonly transports?: Transports;
}

export interface Followed {
  /** The spans of the trace so far. */
  spans(): readonly Span[];
  /** How many tasks of the trace are still open, as far as known. */
  open(): number;
  /** Resolves at the end of a recording, or when it was stopped. Never rejects. */
  readonly done: Promise<void>;
}

/** How often to apply what follows from the passage of time. */
const SETTLE_MS = 1000;
/** How long to wait for an end that may have been missed, instead of an hour; late events arrive within this time. */
const UNKNOWN_AFTER_MS = 5000;

export function followTrace(
  { name, broker, cluster }: ServiceConfig,
  { id, exceptions, report, random, signal, transports, ...options }: FollowOptions,
): Followed {
  // All traces are kept, and these texts are most of a span.
  const settings = { ...options.settings, arguments: false, exceptionEvents: false };
  const kept = new KeptTraces(id);
  const open = new OpenTasks(id, settings.join);
  // A recording is read to its end anyway.
  const isLive = !isReplay(broker.urls);
  const service = openService({
    ...{ name, broker, cluster, report, random, signal, transports },
    yieldToLoop: createYieldToLoop(),
    isObserver: true,
    reports: {
      spans: {
        ...{ settings, exceptions },
        add(span) {
          kept.add(span);
          open.noteSpan(span);
        },
      },
      records: undefined,
      unknownAfterMs: isLive ? UNKNOWN_AFTER_MS : undefined,
    },
    evidence: {
      admit(event) {
        open.note(event);
        return true;
      },
    },
  });
  let settling = Promise.resolve();
  const timer = setInterval(() => {
    settling = settling.then(() => service.settle());
  }, SETTLE_MS);
  return {
    spans: () => kept.wanted(),
    open: () => open.size,
    done: service.done.then(async () => {
      clearInterval(timer);
      await settling;
      await service.stop();
    }),
  };
}
