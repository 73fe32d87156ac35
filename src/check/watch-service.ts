/**
 * Watches one Celery service for some seconds: listens to its events, asks its workers and its broker as `run` does,
 * and returns findings. It exports nothing, and declares nothing permanent.
 */

import type { Session } from '../broker/broker.ts';
import type { BrokerUrls } from '../broker/broker-url.ts';
import { DEFAULT_COMMANDS, type InspectChoice } from '../broker/control/commands.ts';
import { isReplay, kindsOf } from '../broker/kinds.ts';
import { PROOF_INTERVAL_MS } from '../broker/session/listening-clock.ts';
import type { Transports } from '../broker/transports.ts';
import type { DecodeWants } from '../celery/decode.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { Finding } from '../health/symptoms.ts';
import { METRIC_NAMES } from '../meter/catalog.ts';
import { openService, type PollingChoice } from '../service/service.ts';
import { createYieldToLoop } from '../timing/cooperative.ts';
import { pause } from '../timing/pause.ts';
import { CheckEvidence } from './check-evidence.ts';
import { diagnose, type Watched } from './diagnose.ts';
import { observedAnswers } from './observed-answers.ts';

export interface WatchOptions {
  /** How long to watch after connecting. */
  readonly watchMs: number;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Ends the watch early; what has been seen so far counts. */
  readonly signal: AbortSignal;
  /** For tests; by default all transports. */
  readonly transports?: Transports;
}

/** A watch that is running. */
export interface Watch {
  readonly seen: () => { readonly workers: number; readonly events: number };
  /** Never rejects. */
  readonly findings: Promise<readonly Finding[]>;
}

/** The interval of polls, so short that there are several even if one reply is slow. */
const ASKING_INTERVAL_MS = 2000;
const ASKING_DELAY_MS = 100;
/** How long to wait for the reply to a probe of a silent broker. */
const PROBE_REPLY_MS = 2 * PROOF_INTERVAL_MS;
/** How long to search for workers elsewhere. */
const ELSEWHERE_SEARCH_MS = 2000;
/** A metric whose poll reads each unacknowledged message. */
const COSTLY_METRIC = 'celery.queue.unacked';

/** Parents of tasks are decoded because they show whether a client or a worker sent a task. */
const WANTS: DecodeWants = { lineage: true, errors: false, arguments: false, traced: false };

export function watchService(config: ServiceConfig, options: WatchOptions): Watch {
  const evidence = new CheckEvidence(config.cluster.workersMax, expected(config).visibilityTimeoutMs);
  return {
    seen: () => ({ workers: evidence.workers.size, events: evidence.events }),
    findings: watch(config, options, evidence),
  };
}

async function watch(
  config: ServiceConfig,
  { watchMs, random, signal, transports }: WatchOptions,
  evidence: CheckEvidence,
): Promise<readonly Finding[]> {
  const { name, broker, cluster } = config;
  const over = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  let readyUpMs: number | undefined;
  let current: Session | undefined;
  const stopping = new AbortController();
  const service = openService({
    ...{ name, broker, cluster, random, transports, signal: stopping.signal },
    report(event) {
      // Questions that are in progress at the end fail because the connections are closed.
      if (stopping.signal.aborted) return;
      evidence.report(event);
      if (evidence.health.broker === undefined && evidence.failedAttempts >= broker.urls.length)
        over.resolve();
    },
    yieldToLoop: createYieldToLoop(),
    ...{ isObserver: true, activity: true },
    // A reply to a ping has no content to report.
    polling: { ...pollingOf(config), onReply: (nodename) => void evidence.noteReply(nodename, false) },
    evidence: {
      admit: (...event) => evidence.note(...event),
      answers: (answers) => observedAnswers(answers, evidence),
      wants: WANTS,
    },
    during(session) {
      session.instances?.(stopping.signal).then((count) => {
        evidence.health.instances = count;
      });
      current = session;
    },
  });
  void service.ready.then((isReady) => {
    if (!isReady) return;
    readyUpMs = performance.now();
    timer = setTimeout(over.resolve, watchMs);
  });
  signal.addEventListener('abort', () => over.resolve(), { once: true });
  if (signal.aborted) over.resolve();
  // A recording ends on its own.
  await Promise.race([over.promise, service.done]);
  clearTimeout(timer);
  // The clock of the listener pauses while disconnected.
  const silence = (): number => (service.connected() ? Date.now() - service.now().wallMs : 0);
  // If this process was paused, and not the broker, the broker replies soon.
  if (silence() > 0) await pause(PROBE_REPLY_MS, signal);
  const silentMs = silence();
  await service.applyHeld();
  const view = await service.view();
  const isConnected = service.connected() || isReplay(config.broker.urls);
  const { listenedMs } = service.now();
  if (evidence.events === 0 && silentMs < PROBE_REPLY_MS && service.connected()) {
    const found = await current?.elsewhere?.(AbortSignal.timeout(ELSEWHERE_SEARCH_MS));
    evidence.elsewhere = found ?? evidence.elsewhere;
  }
  stopping.abort();
  await service.stop();
  const watchedMs = readyUpMs === undefined ? 0 : performance.now() - readyUpMs;
  const { troubles } = service.state();
  const watched = { evidence, view, troubles, isConnected, watchedMs, listenedMs, silentMs };
  return diagnose({ ...expected(config), ...watched });
}

/** The polls and commands of `run`, but more often, and without those that change something. */
function pollingOf({ name, polls, control, taskDefaultQueue }: ServiceConfig): PollingChoice {
  return {
    // The name gives it a reply list of its own, apart from that of a running instance.
    name: `${name} check`,
    polls: { ...polls, intervalMs: ASKING_INTERVAL_MS, initialDelayMs: ASKING_DELAY_MS },
    control: { ...control, commands: safeCommands(control.commands), enableEvents: false },
    choice: {
      metrics: new Set(METRIC_NAMES.filter((metric) => metric !== COSTLY_METRIC)),
      optIns: new Set(),
    },
    taskDefaultQueue,
    // Poll at once, instead of spreading polls over the interval.
    random: () => 0,
  };
}

/** Removes the commands whose reply can fail: a check of a cluster in trouble must not endanger its workers. */
function safeCommands(commands: InspectChoice): InspectChoice {
  return commands === 'auto' ? commands : DEFAULT_COMMANDS.filter((command) => commands.includes(command));
}

function expected({ broker, polls, control }: ServiceConfig) {
  const kinds = kindsOf(broker.urls);
  return {
    addresses: broker.urls.map((url) => url.label).join(', '),
    exchange: kinds.some(({ hasExchanges }) => hasExchanges) ? broker.eventExchange : undefined,
    asking: commandsOn(broker.urls, control.commands),
    visibilityTimeoutMs: kinds.some(({ hasVisibilityTimeout }) => hasVisibilityTimeout)
      ? polls.redis.visibilityTimeoutMs
      : undefined,
  };
}

function commandsOn(urls: BrokerUrls, commands: InspectChoice): Watched['asking'] {
  if (isReplay(urls)) return 'impossible';
  return safeCommands(commands).length > 0 ? 'on' : 'off';
}
