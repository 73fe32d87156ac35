/**
 * Observes one Celery service for people: listens to its events, and keeps what its workers, queues and tasks do. It exports nothing,
 * leaves nothing at the broker, asks that only for the lengths of its queues, and asks workers nothing.
 */
import { Activity } from '../activity/activity.ts';
import { asker } from '../asking.ts';
import type { BridgeActivity } from '../bridge.ts';
import type { Deliver } from '../broker/broker.ts';
import { type Listener, listen } from '../broker/session-loop.ts';
import { BODY_LIMITS } from '../celery/body-limits.ts';
import { decode } from '../celery/decode.ts';
import { ExpansionReserve } from '../celery/expansion.ts';
import { INTENTIONAL_REASONS } from '../celery/rejection.ts';
import { type Cluster, createCluster } from '../cluster/cluster.ts';
import type { ServiceConfig } from '../config/config.ts';
import { metricsAsked } from '../meter/catalog.ts';
import { MissingEvents } from '../self/missing-events.ts';
import type { Tell } from '../self/self-event.ts';
import { Pulse, type ServiceState } from '../service-state.ts';
import { viewer } from '../viewer.ts';
import { createYieldToLoop, runYielding } from '../yielding.ts';

export interface ObserveOptions {
  readonly tell: Tell;
  /** In [0, 1). */
  readonly random: () => number;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export interface ObservedService {
  readonly name: string;
  state(): ServiceState;
  activity(): Promise<BridgeActivity | undefined>;
  /** Resolves at the end of a recording, or when it is stopped. Never rejects. */
  readonly done: Listener['done'];
}

const QUIET_MS = 60_000;
/** Missing events are looked for so often. */
const LOOK_MS = 5000;

export function observeService(config: ServiceConfig, options: ObserveOptions): ObservedService {
  const { name } = config;
  const { tell, random, signal } = options;
  const activity = new Activity();
  const pulse = new Pulse(() => performance.now(), activity);
  const missing = new MissingEvents(QUIET_MS);
  const cluster = createCluster(config.cluster, (it) => activity.observe(it, listener.now()));
  const yieldToLoop = createYieldToLoop();
  const now = () => ({ wallMs: listener.now(), listenedMs: listener.listenedMs() });
  const ask = asker({ ...withoutWorkers(config), ...{ tell, random, yieldToLoop } }, cluster, now);
  const view = pulse.following(viewer({ name, retire: () => {}, tell, yieldToLoop }, cluster, now));
  const gap = (): void => {
    cluster.gap();
    missing.gap();
  };
  let wasReady = false;
  const listener: Listener = listen({
    ...{ ...config.broker, service: name, bodyBytesMax: BODY_LIMITS.body.max },
    ...{ random, tell, signal, isObserver: true, isExported: true },
    deliver: receiver(name, { cluster, pulse, missing, tell }),
    between: () => runYielding(yieldToLoop, cluster.drain()),
    missed: gap,
    ready() {
      if (wasReady) gap();
      wasReady = true;
    },
    during: ask,
  });
  let end: Awaited<Listener['done']> | undefined;
  const done = listener.done.then((why) => {
    end = why;
    cluster.flush();
    return why;
  });
  const endLooking = lookFor(missing, config, listener, tell);
  void done.then(endLooking);
  return {
    name,
    done,
    state: () => ({
      name,
      phase: end ?? (listener.connected() ? 'listening' : 'waiting'),
      ...pulse.read(listener.now()),
      tables: cluster.tables(),
    }),
    async activity() {
      const viewed = await view();
      const read = pulse.activity(listener.now(), viewed);
      return read && { ...read, series: undefined };
    },
  };
}

/** Queues are polled as `run` does, workers are not asked, and nothing is changed. */
function withoutWorkers({ name, polls, control, taskDefaultQueue, choice }: ServiceConfig) {
  const ofWorkers = new Set(metricsAsked('workers'));
  const metrics = new Set([...choice.metrics].filter((metric) => !ofWorkers.has(metric)));
  return {
    ...{ name, polls, taskDefaultQueue },
    control: { ...control, enableEvents: false },
    choice: { ...choice, metrics },
  };
}

interface Receiving {
  readonly cluster: Pick<Cluster, 'apply'>;
  readonly pulse: Pulse;
  readonly missing: MissingEvents;
  readonly tell: Tell;
}

/** As a service decodes and applies its messages. */
function receiver(service: string, { cluster, pulse, missing, tell }: Receiving): Deliver {
  let reserve: ExpansionReserve | undefined;
  return (message, listenedMs, steadyMs) => {
    reserve ??= new ExpansionReserve(listenedMs);
    const { events, rejections } = decode(message, listenedMs, reserve);
    for (const event of events) {
      missing.note(event);
      pulse.note(message.arrivedAtMs, event.implausibleMs === undefined ? event.timestampMs : undefined);
      cluster.apply(event, steadyMs, listenedMs);
    }
    if (events.length === 0 && rejections.length > 0) missing.noteUnreadable();
    for (const { reason, detail } of rejections)
      tell({
        kind: 'input-dropped',
        service,
        reason,
        intentional: INTENTIONAL_REASONS.has(reason),
        detail,
      });
  };
}

/** A recording has its own time, and its user knows its content. @returns ends it */
function lookFor(
  missing: MissingEvents,
  { name: service, broker }: ServiceConfig,
  listener: Listener,
  tell: Tell,
): () => void {
  if (broker.urls.some(({ scheme }) => scheme === 'recording')) return () => {};
  const exchange = broker.eventExchange;
  const timer = setInterval(() => {
    for (const finding of missing.check(listener.listenedMs()))
      tell(finding.kind === 'events-missing' ? { ...finding, service, exchange } : { ...finding, service });
  }, LOOK_MS);
  return () => clearInterval(timer);
}
