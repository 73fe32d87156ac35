/**
 * Observes one Celery service for people: listens to its events, and keeps what its workers, queues and tasks do. It exports nothing,
 * leaves nothing at the broker, asks that only for the lengths of its queues, and asks workers nothing.
 */

import type { BridgeActivity } from '../bridge/bridge.ts';
import { gapsOf } from '../broker/session/gaps.ts';
import { type Listener, listen } from '../broker/session/session-loop.ts';
import { BODY_LIMITS } from '../celery/body-limits.ts';
import { createCluster } from '../cluster/cluster.ts';
import type { ServiceConfig } from '../config/config.ts';
import { metricsAsked } from '../meter/catalog.ts';
import type { EventSink } from '../self/self-event.ts';
import { Activity } from '../service/activity/activity.ts';
import { clusterViews } from '../service/cluster-views.ts';
import { messageHandler, missingReporter } from '../service/message-handler.ts';
import { MissingEvents } from '../service/missing-events.ts';
import { servicePoller } from '../service/polling.ts';
import { EventRates, type ServiceState } from '../service/service-state.ts';
import { createYieldToLoop, runCooperatively } from '../timing/cooperative.ts';

export interface ObserveOptions {
  readonly report: EventSink;
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
  const { report, random, signal } = options;
  const activity = new Activity();
  const eventRates = new EventRates(() => performance.now(), activity);
  const missing = new MissingEvents(QUIET_MS);
  const cluster = createCluster(config.cluster, (it) => activity.observe(it, listener.now()));
  const yieldToLoop = createYieldToLoop();
  const now = () => ({ wallMs: listener.now(), listenedMs: listener.listenedMs() });
  const ask = servicePoller({ ...withoutWorkers(config), ...{ report, random, yieldToLoop } }, cluster, now);
  const view = eventRates.following(
    clusterViews({ name, retire: () => {}, report, yieldToLoop }, cluster, now),
  );
  const listener: Listener = listen({
    ...{ ...config.broker, service: name, bodyBytesMax: BODY_LIMITS.body.max },
    ...{ random, report, signal, isObserver: true, isExported: true },
    deliver: messageHandler({ service: name, cluster, eventRates, missing, report }),
    between: () => runCooperatively(yieldToLoop, cluster.drain()),
    ...gapsOf(() => {
      cluster.gap();
      missing.gap();
    }),
    during: ask,
  });
  let end: Awaited<Listener['done']> | undefined;
  const done = listener.done.then((why) => {
    end = why;
    cluster.flush();
    return why;
  });
  const look = missingReporter(missing, config, report);
  const looking = setInterval(() => look(listener.listenedMs()), LOOK_MS);
  void done.then(() => clearInterval(looking));
  return {
    name,
    done,
    state: () => ({
      name,
      phase: end ?? (listener.connected() ? 'listening' : 'waiting'),
      ...eventRates.read(listener.now()),
      tables: cluster.tables(),
    }),
    async activity() {
      const viewed = await view();
      const read = eventRates.activity(listener.now(), viewed);
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
