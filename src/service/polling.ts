/**
 * Polls the broker of one service for its queues, and its workers for their state, while the service is connected. It
 * composes the questions, and passes on the replies.
 */
import type { Session } from '../broker/broker.ts';
import type { PollSettings, QueueDepth } from '../broker/broker-reading.ts';
import type { ControlSettings, Fates } from '../broker/control/control.ts';
import { type BrokerPollOptions, startBrokerPolls } from '../broker/session/broker-polls.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Moment } from '../cluster/moment.ts';
import { metricsAsked } from '../meter/catalog.ts';
import type { MetricChoice } from '../meter/recorder.ts';
import type { EventSink } from '../self/self-event.ts';
import { wildcard } from '../text/wildcard.ts';
import { runCooperatively, type YieldToLoop } from '../timing/cooperative.ts';
import { startInspecting } from './inspection/inspection.ts';
import { type InspectionOptions, newMemory } from './inspection/inspection-options.ts';

/** A worker without events for this long is dead, unless its heartbeats are off or far slower than any default. */
const GONE_MS = 180_000;
/** How many leftover names are reported at most. */
const LEFTOVERS_NAMED_MAX = 20;

export interface ServicePollingOptions {
  /** The name of the service. */
  readonly name: string;
  readonly polls: PollSettings;
  readonly control: ControlSettings;
  /** The queue of tasks that are sent without naming one. */
  readonly taskDefaultQueue: string;
  /** Which metrics are recorded. */
  readonly choice: MetricChoice;
  readonly report: EventSink;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Awaited between the steps of long work. */
  readonly yieldToLoop: YieldToLoop;
  /** Called when a worker has replied to any command; must not throw. */
  readonly onReply?: (nodename: string) => void;
}

/** @returns a function that starts polling in a session, and returns a function that stops it */
export function servicePoller(
  options: ServicePollingOptions,
  cluster: Pick<Cluster, 'answers'>,
  now: () => Moment,
): (session: Session) => () => void {
  const isOn = (of: 'broker' | 'workers'): boolean =>
    metricsAsked(of).some((metric) => options.choice.metrics.has(metric));
  const polls = isOn('broker') ? pollsOf(options, cluster, now) : undefined;
  const inspection =
    isOn('workers') || options.control.enableEvents ? inspectionOf(options, cluster, now) : undefined;
  return (session) => {
    const stopBrokerPolls = polls && startBrokerPolls(session, polls);
    const stopInspecting = inspection && startInspecting(session, inspection);
    return () => {
      stopBrokerPolls?.();
      stopInspecting?.();
    };
  };
}

/** The questions to the broker, and what is done with its replies. */
function pollsOf(
  options: ServicePollingOptions,
  cluster: Pick<Cluster, 'answers'>,
  now: () => Moment,
): BrokerPollOptions {
  const { name: service, polls, control, taskDefaultQueue, choice, report, random } = options;
  const named = new Set<string>();
  const fates = fatesOf(options, cluster, now);
  const depthOf = parking(polls.parkedQueues);
  return {
    ...{ intervalMs: polls.intervalMs, initialDelayMs: polls.initialDelayMs, random },
    question() {
      cluster.answers.brokerAsked();
      return {
        queues: [
          ...new Set([taskDefaultQueue, ...polls.queues, ...cluster.answers.knownQueues(now().listenedMs)]),
        ],
        unackedByQueue: choice.metrics.has('celery.queue.unacked'),
        redis: polls.redis,
        namespace: control.namespace,
        fates,
      };
    },
    onReading(reading, beganUpMs) {
      const marked = reading && { ...reading, queues: reading.queues.map(depthOf) };
      cluster.answers.brokerKnows(marked, () => performance.now() - beganUpMs, now().listenedMs);
      for (const leftover of reading?.leftovers ?? []) {
        if (named.size >= LEFTOVERS_NAMED_MAX) break;
        if (named.has(leftover.member)) continue;
        named.add(leftover.member);
        report({ ...leftover, kind: 'name-left-behind', service });
      }
    },
    onResult: (result) => report({ ...result, kind: 'broker-polled', service }),
  };
}

/** Marks parked queues. */
function parking(patterns: readonly string[]): (depth: QueueDepth) => QueueDepth {
  const matchers = patterns.map((pattern) => wildcard(pattern));
  return (depth) => (matchers.some((matches) => matches(depth.queue)) ? { ...depth, isParked: true } : depth);
}

/**
 * The state of workers, from their events: a worker that is not up may be gone, not known yet, or beyond the limit of
 * workers.
 */
function fatesOf(
  { yieldToLoop }: ServicePollingOptions,
  { answers }: Pick<Cluster, 'answers'>,
  now: () => Moment,
): Fates {
  return async () => {
    const up = await runCooperatively(yieldToLoop, answers.workersUp(now().listenedMs));
    const names = new Set(up.map(({ nodename }) => nodename));
    const areAllKnown = now().listenedMs >= GONE_MS && answers.forgotten === 0;
    return (nodename) => {
      if (names.has(nodename)) return 'up';
      return areAllKnown ? 'gone' : 'unknown';
    };
  };
}

/** The questions to the workers, and what is done with their replies. */
function inspectionOf(
  options: ServicePollingOptions,
  cluster: Pick<Cluster, 'answers'>,
  now: () => Moment,
): InspectionOptions {
  const { name: service, polls, control, report, random, yieldToLoop, onReply = () => {} } = options;
  const { intervalMs, initialDelayMs, redis } = polls;
  return {
    ...{ ...control, intervalMs, initialDelayMs, random, yieldToLoop, answers: cluster.answers, now },
    redis: { owner: service, separator: redis.separator, fates: fatesOf(options, cluster, now) },
    memory: newMemory(),
    onReply,
    onAsked: (asked) => report({ ...asked, kind: 'workers-asked', service }),
    onSkipped: (refusal) => report({ ...refusal, kind: 'command-skipped', service }),
    onDeaf: (worker, isDeaf) =>
      report({ kind: isDeaf ? 'worker-deaf' : 'worker-recovered', service, worker }),
    onImplausible: (implausible) => report({ ...implausible, kind: 'field-implausible', service }),
  };
}
