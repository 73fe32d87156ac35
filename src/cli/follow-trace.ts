/**
 * Follows the trace of one task in one Celery service: listens to its events, and keeps the spans that are made of them. It exports
 * and asks nothing, and prints nothing.
 */

import { gapsOf } from '../broker/session/gaps.ts';
import { type Listener, listen } from '../broker/session/session-loop.ts';
import { BODY_LIMITS } from '../celery/body-limits.ts';
import { type Cluster, createCluster } from '../cluster/cluster.ts';
import type { ServiceConfig, TracesConfig } from '../config/config.ts';
import type { EventSink } from '../self/self-event.ts';
import { messageHandler } from '../service/message-handler.ts';
import { createTelemetry } from '../service/telemetry.ts';
import { createYieldToLoop, runCooperatively } from '../timing/cooperative.ts';
import { finishedRuns } from '../tracer/ancestry/finished-runs.ts';
import type { Span } from '../tracer/span.ts';
import type { TraceSettings } from '../tracer/trace-settings.ts';
import { KeptTraces } from './kept-traces.ts';
import { OpenTasks } from './open-tasks.ts';

export interface FollowOptions {
  /** The id of a task, or of a trace. */
  readonly id: string;
  /** With a sampler that keeps all. */
  readonly settings: TraceSettings;
  /** How much of exceptions is shown. */
  readonly exceptions: TracesConfig['exceptions'];
  readonly report: EventSink;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

export interface Followed {
  /** Of its trace, so far. */
  spans(): readonly Span[];
  /** How many tasks of the trace have not ended, as far as is known. */
  open(): number;
  /** Resolves at the end of a recording, or when it is stopped. Never rejects. */
  readonly done: Promise<void>;
}

/** What only time brings about is looked for so often. */
const SETTLE_MS = 1000;
/** Nobody waits an hour for an end that may have been missed; one that is late has come by then. */
const UNKNOWN_AFTER_MS = 5000;

export function followTrace(config: ServiceConfig, options: FollowOptions): Followed {
  const { id, exceptions, report, random, signal } = options;
  // All traces are kept, and these are most of a span.
  const settings = { ...options.settings, arguments: false, exceptionEvents: false };
  const kept = new KeptTraces(id);
  const open = new OpenTasks(id, settings.join);
  const telemetry = createTelemetry({
    ...{ service: config.name, broker: config.broker, report },
    spans: {
      ...{ settings, exceptions },
      add(span) {
        kept.add(span);
        open.noteSpan(span);
      },
    },
    records: undefined,
  });
  // A recording is read to its end in any case.
  const isLive = config.broker.urls.every(({ scheme }) => scheme !== 'recording');
  const patience = isLive ? { unknownAfterMs: UNKNOWN_AFTER_MS } : {};
  const finished = telemetry && { ...telemetry.listener, ...patience };
  const cluster = createCluster(config.cluster, () => {}, finished && finishedRuns(finished));
  const apply: Cluster['apply'] = (event, steadyMs, listenedMs) => {
    open.note(event);
    cluster.apply(event, steadyMs, listenedMs);
  };
  const yieldToLoop = createYieldToLoop();
  const listener: Listener = listen({
    ...{ ...config.broker, service: config.name, bodyBytesMax: BODY_LIMITS.body.max },
    ...{ random, report, signal, isObserver: true, isExported: true },
    deliver: messageHandler({ service: config.name, cluster: { apply }, report, wants: telemetry?.wants }),
    ...gapsOf(() => cluster.gap()),
  });
  const now = () => ({ wallMs: listener.now(), listenedMs: listener.listenedMs() });
  let settling = Promise.resolve();
  const timer = setInterval(() => {
    settling = settling.then(async () => void (await runCooperatively(yieldToLoop, cluster.settle(now))));
  }, SETTLE_MS);
  return {
    spans: () => kept.wanted(),
    open: () => open.size,
    done: listener.done.then(async () => {
      clearInterval(timer);
      await settling;
      cluster.flush();
    }),
  };
}
