/**
 * Watches one Celery service for some seconds: listens to its events, queries its workers and its broker as `run` does, and returns the
 * findings. It exports nothing, and declares nothing permanent.
 */

import type { Session } from '../broker/broker.ts';
import type { BrokerUrls } from '../broker/broker-url.ts';
import { DEFAULT_COMMANDS, type InspectChoice } from '../broker/control/commands.ts';
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
  /** For how long, once connected. */
  readonly watchMs: number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Ends the watch early; what has been seen by then counts. */
  readonly signal: AbortSignal;
  /** For tests; by default all transports. */
  readonly transports?: Transports;
}

/** A watch under way. */
export interface Watch {
  readonly seen: () => { readonly workers: number; readonly events: number };
  /** Never rejects. */
  readonly findings: Promise<readonly Finding[]>;
}

/** The interval of polls: short, so that one slow reply is not the only one. */
const ASKING_INTERVAL_MS = 2000;
const ASKING_DELAY_MS = 100;
/** Enough time to probe the broker, and for its reply. */
const PROOF_MS = 2 * PROOF_INTERVAL_MS;
/** The time to search for workers elsewhere. */
const LOOK_MS = 2000;
/** Reads each unacknowledged message. */
const COSTLY = 'celery.queue.unacked';

/** The sender of a task shows whether clients send events. */
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
      // Questions in progress at the end fail because the connections are closed.
      if (stopping.signal.aborted) return;
      evidence.report(event);
      if (evidence.health.broker === undefined && evidence.failedAttempts >= broker.urls.length)
        over.resolve();
    },
    yieldToLoop: createYieldToLoop(),
    ...{ isObserver: true, activity: true },
    // A reply to a ping has no other content.
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
  // Its clock is paused while disconnected.
  const silence = (): number => (service.connected() ? Date.now() - service.now().wallMs : 0);
  // If this process was paused, and not the broker, the broker replies soon.
  if (silence() > 0) await pause(PROOF_MS, signal);
  const silentMs = silence();
  await service.applyHeld();
  const view = await service.view();
  const isConnected = service.connected() || config.broker.urls.some(({ scheme }) => scheme === 'recording');
  const { listenedMs } = service.now();
  if (evidence.events === 0 && silentMs < PROOF_MS && service.connected()) {
    const found = await current?.elsewhere?.(AbortSignal.timeout(LOOK_MS));
    evidence.elsewhere = found ?? evidence.elsewhere;
  }
  stopping.abort();
  await service.stop();
  const watchedMs = readyUpMs === undefined ? 0 : performance.now() - readyUpMs;
  const { troubles } = service.state();
  const watched = { evidence, view, troubles, isConnected, watchedMs, listenedMs, silentMs };
  return diagnose({ ...expected(config), ...watched });
}

/** The questions of `run`, but more often, and without changing anything. */
function pollingOf({ name, polls, control, taskDefaultQueue }: ServiceConfig): PollingChoice {
  return {
    // Uses its own reply list, apart from a running instance’s.
    name: `${name} check`,
    polls: { ...polls, intervalMs: ASKING_INTERVAL_MS, initialDelayMs: ASKING_DELAY_MS },
    control: { ...control, commands: safe(control.commands), enableEvents: false },
    choice: { metrics: new Set(METRIC_NAMES.filter((metric) => metric !== COSTLY)), optIns: new Set() },
    taskDefaultQueue,
    // At once, not spread over the interval.
    random: () => 0,
  };
}

/** A check of a cluster in trouble must not endanger its workers. */
function safe(commands: InspectChoice): InspectChoice {
  return commands === 'auto' ? commands : DEFAULT_COMMANDS.filter((command) => commands.includes(command));
}

function expected({ broker, polls, control }: ServiceConfig) {
  const isRedis = broker.urls.some((url) => 'db' in url);
  return {
    addresses: broker.urls.map((url) => url.label).join(', '),
    exchange: broker.urls.some((url) => 'vhost' in url) ? broker.eventExchange : undefined,
    asking: commandsOn(broker.urls, control.commands),
    visibilityTimeoutMs: isRedis ? polls.redis.visibilityTimeoutMs : undefined,
  };
}

function commandsOn(urls: BrokerUrls, commands: InspectChoice): Watched['asking'] {
  if (urls.some((url) => url.scheme === 'recording')) return 'impossible';
  return safe(commands).length > 0 ? 'on' : 'off';
}
