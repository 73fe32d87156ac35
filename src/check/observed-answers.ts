/**
 * Passes replies of workers and of the broker on to a cluster, and notes which workers replied and when queues were
 * empty. It changes no reply, and drops replies of workers that are not watched.
 */
import type { Answers } from '../cluster/answers.ts';
import type { CheckEvidence } from './check-evidence.ts';

export function observedAnswers(answers: Answers, evidence: CheckEvidence): Answers {
  return {
    get session() {
      return answers.session;
    },
    get reportAgeMs() {
      return answers.reportAgeMs;
    },
    consumes: (nodename, queues, now) =>
      evidence.noteReply(nodename, false) && answers.consumes(nodename, queues, now),
    workerReported(nodename, stats, now) {
      if (evidence.noteReply(nodename, stats.pid !== 0)) answers.workerReported(nodename, stats, now);
    },
    workerLives: (nodename, now) => answers.workerLives(nodename, now),
    workerRuns: (nodename, tasks, now) =>
      evidence.noteReply(nodename, false) && answers.workerRuns(nodename, tasks, now),
    workerHas: (nodename, tasks, now) =>
      evidence.noteReply(nodename, false) && answers.workerHas(nodename, tasks, now),
    workerDeaf: (nodename, isDeaf) => answers.workerDeaf(nodename, isDeaf),
    workersAsked: (ageMs) => answers.workersAsked(ageMs),
    brokerAsked: () => answers.brokerAsked(),
    brokerKnows(reading, ageMs, listenedMs) {
      evidence.noteDepths(reading?.queues);
      answers.brokerKnows(reading, ageMs, listenedMs);
    },
    get forgotten() {
      return answers.forgotten;
    },
    workersUp: (listenedMs) => answers.workersUp(listenedMs),
    knownQueues: (listenedMs) => answers.knownQueues(listenedMs),
  };
}
