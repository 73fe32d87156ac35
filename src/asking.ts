/**
 * What one service asks while it is connected: its broker about queues, and its workers about themselves. It composes the
 * questions, and passes on what comes of them.
 */
import type { Session } from './broker/broker.ts';
import { type PollOptions, startPolling } from './broker/broker-polls.ts';
import type { PollSettings } from './broker/broker-reading.ts';
import type { ControlSettings } from './broker/control/control.ts';
import type { Cluster } from './cluster/cluster.ts';
import type { Moment } from './cluster/moment.ts';
import { startInspecting } from './inspection/inspection.ts';
import { type InspectionOptions, newMemory } from './inspection/inspection-options.ts';
import { metricsAsked } from './meter/catalog.ts';
import type { MetricChoice } from './meter/recorder.ts';
import type { Tell } from './self/self-event.ts';
import type { YieldToLoop } from './yielding.ts';

export interface AskingOptions {
  /** Of the service. */
  readonly name: string;
  readonly polls: PollSettings;
  readonly control: ControlSettings;
  /** The queue of tasks that are sent without one. */
  readonly taskDefaultQueue: string;
  /** Which metrics are recorded. */
  readonly choice: MetricChoice;
  readonly tell: Tell;
  /** In [0, 1). */
  readonly random: () => number;
  /** Awaited between the steps of long work. */
  readonly yieldToLoop: YieldToLoop;
  /** A worker has replied to any question; must not throw. */
  readonly onReply?: (nodename: string) => void;
}

/** @returns begins to ask in a session, and returns what ends that */
export function asker(
  options: AskingOptions,
  cluster: Pick<Cluster, 'answers'>,
  now: () => Moment,
): (session: Session) => () => void {
  const isOn = (of: 'broker' | 'workers'): boolean =>
    metricsAsked(of).some((metric) => options.choice.metrics.has(metric));
  const polls = isOn('broker') ? pollsOf(options, cluster, now) : undefined;
  const inspection =
    isOn('workers') || options.control.enableEvents ? inspectionOf(options, cluster, now) : undefined;
  return (session) => {
    const stopPolling = polls && startPolling(session, polls);
    const stopInspecting = inspection && startInspecting(session, inspection);
    return () => {
      stopPolling?.();
      stopInspecting?.();
    };
  };
}

/** What the broker is asked, and what becomes of its answers. */
function pollsOf(
  { name: service, polls, control, taskDefaultQueue, choice, tell, random }: AskingOptions,
  cluster: Pick<Cluster, 'answers'>,
  now: () => Moment,
): PollOptions {
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
      };
    },
    onReading: (reading, beganUpMs) =>
      cluster.answers.brokerKnows(reading, () => performance.now() - beganUpMs, now().listenedMs),
    onResult: (result) => tell({ ...result, kind: 'broker-polled', service }),
  };
}

/** What the workers are asked, and what becomes of their replies. */
function inspectionOf(
  { name: service, polls, control, tell, random, yieldToLoop, onReply = () => {} }: AskingOptions,
  cluster: Pick<Cluster, 'answers'>,
  now: () => Moment,
): InspectionOptions {
  const { intervalMs, initialDelayMs, redis } = polls;
  return {
    ...{ ...control, intervalMs, initialDelayMs, random, yieldToLoop, answers: cluster.answers, now },
    redis: { owner: service, separator: redis.separator },
    memory: newMemory(),
    onReply,
    onAsked: (asked) => tell({ ...asked, kind: 'workers-asked', service }),
    onWithheld: (refusal) => tell({ ...refusal, kind: 'question-withheld', service }),
    onDeaf: (worker, isDeaf) => tell({ kind: isDeaf ? 'worker-deaf' : 'worker-hears', service, worker }),
    onImplausible: (implausible) => tell({ ...implausible, kind: 'field-implausible', service }),
  };
}
