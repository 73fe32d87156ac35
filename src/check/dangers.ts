/**
 * Finds known dangers for a cluster: defects of its Celery versions, and a visibility timeout that is too short for its
 * tasks. Pure.
 */

import type { ClusterView, WorkerReading } from '../cluster/observation.ts';
import { type Finding, finding, findingAbout } from '../health/symptoms.ts';
import { FAILED_REPLY_HARMLESS_FROM, isAtLeast } from '../text/celery-version.ts';
import type { CheckEvidence } from './check-evidence.ts';

export interface Dangers {
  readonly evidence: CheckEvidence;
  readonly view: ClusterView;
  /** The setting of Redis; undefined for other brokers, which have none. */
  readonly visibilityTimeoutMs: number | undefined;
}

export function dangers({ evidence, view, visibilityTimeoutMs }: Dangers): readonly Finding[] {
  const { failedTwice } = evidence;
  return [
    ...(failedTwice > 0 ? [finding('failure-told-twice', { count: failedTwice })] : []),
    ...(visibilityTimeoutMs === undefined
      ? []
      : [...deafness(view.workers), ...visibility(evidence, view, visibilityTimeoutMs)]),
  ];
}

function deafness(workers: readonly WorkerReading[]): readonly Finding[] {
  const exposed = workers.filter(
    ({ up, pool, versions }) =>
      // Workers with the gevent pool recover.
      up &&
      (pool === 'eventlet' ||
        (pool !== 'gevent' && isAtLeast(versions[0]?.version ?? '', FAILED_REPLY_HARMLESS_FROM) === false)),
  );
  return findingAbout(
    'deaf-after-bad-reply',
    exposed.map(({ worker }) => worker),
  );
}

function visibility(evidence: CheckEvidence, { queues }: ClusterView, timeoutMs: number): readonly Finding[] {
  const timeout = Math.round(timeoutMs / 1000);
  const { etaMs, etasBeyond: etas, runtimeMs } = evidence;
  const runtimeS = Math.max(runtimeMs / 1000, ...queues.map(({ runningAgeS }) => runningAgeS));
  return [
    ...(etas > 0
      ? [finding('eta-beyond-visibility', { count: etas, timeout, seconds: Math.round(etaMs / 1000) })]
      : []),
    ...(runtimeS > timeout
      ? [finding('runtime-beyond-visibility', { timeout, seconds: Math.round(runtimeS) })]
      : []),
  ];
}
