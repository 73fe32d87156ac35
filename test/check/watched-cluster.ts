/** A cluster as a check watches it, without a broker: whatever is shown to it reaches the sightings and the cluster alike. */
import type { QueueDepth } from '../../src/broker/broker-reading.ts';
import type { AskedCommand } from '../../src/broker/control/commands.ts';
import type { WorkerStats } from '../../src/celery/control-reply.ts';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { CheckEvidence } from '../../src/check/check-evidence.ts';
import { diagnose } from '../../src/check/diagnose.ts';
import { observedAnswers } from '../../src/check/observed-answers.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { atOnce } from '../cluster/at-once.ts';
import { SETTINGS, signal, T0_MS } from '../cluster/events.ts';

export const STATS: WorkerStats = {
  ...{ pid: 17, pool: 'prefork', processes: 4, limit: 4, autoscaler: undefined, prefetchLimit: 16 },
  ...{ uptimeS: 5, cpuUserS: 1, cpuSystemS: 2, memoryMaxBytes: 3, writes: [] },
};

const VISIBILITY_TIMEOUT_MS = 3_600_000;

/** A check of some seconds. Times are ms since its begin. */
export function watchCluster(workersMax: number) {
  const evidence = new CheckEvidence(workersMax, VISIBILITY_TIMEOUT_MS);
  const cluster = createCluster({ ...SETTINGS, workersMax }, () => {});
  const answers = observedAnswers(cluster.answers, evidence);
  const at = (ms: number) => ({ wallMs: T0_MS + ms, listenedMs: ms });
  evidence.report({
    kind: 'broker-connected',
    service: 'shop',
    broker: 'redis://b',
    exchange: '',
    attempts: 1,
  });
  const show = (event: CeleryEvent, ms: number): void => {
    const shown = { ...event, timestampMs: T0_MS + ms };
    if (evidence.note(shown, T0_MS + ms, ms)) cluster.apply(shown, T0_MS + ms, ms);
  };
  return {
    ...{ evidence, cluster, answers, show },
    signal: (type: 'heartbeat' | 'offline' | 'online', hostname: string, ms: number, pid = 17) =>
      show(signal(`worker-${type}`, { hostname, pid, clock: -1, loadavg: [0, 0, 0] }), ms),
    /** One question, which these workers answer. @param receivers as Redis says */
    ask(ms: number, command: AskedCommand, names: readonly string[], receivers = names.length): void {
      for (const name of names) {
        if (command === 'stats') answers.workerReported(name, STATS, at(ms));
        else if (command === 'active_queues') answers.consumes(name, ['orders'], at(ms));
        else if (command === 'active') answers.workerRuns(name, [], at(ms));
        else answers.workerHas(name, [], at(ms));
      }
      answers.workersAsked(() => 0);
      const asked = { command, outcome: 'success', reason: '', replies: { answer: names.length } } as const;
      evidence.report({ ...asked, kind: 'workers-asked', service: 'shop', receivers });
    },
    /** What is said at the end. */
    lines(ms: number, depths: readonly QueueDepth[] = []): readonly string[] {
      answers.brokerKnows({ queues: depths, incomplete: [] }, () => 0, ms);
      atOnce(cluster.settle(() => at(ms)));
      const view = atOnce(cluster.view(() => at(ms)));
      const found = diagnose({
        ...{
          evidence,
          view,
          troubles: undefined,
          isConnected: true,
          watchedMs: ms,
          listenedMs: ms,
          silentMs: 0,
          addresses: 'redis://b',
        },
        ...{ exchange: undefined, asking: 'on', visibilityTimeoutMs: VISIBILITY_TIMEOUT_MS },
      });
      return found.map(({ line }) => line);
    },
  };
}
