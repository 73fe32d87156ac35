/** A run that is over, for tests of what is remembered. */
import type { FinishedRun } from '../../../src/tracer/ancestry/finished.ts';

const PLACE = { retries: 0, delivery: 0 };
/** Runs with the same names share it. */
const RUN = { task: 'shop.pay', queue: 'orders', worker: 'w1@a' };

export function finishedRun(uuid: string, more: Partial<FinishedRun> = {}): FinishedRun {
  return {
    ...{ kind: 'run', uuid, rootId: uuid, parentId: '', parentPlace: PLACE, traceRootId: uuid },
    ...{ beginsTrace: false, ...PLACE, run: RUN },
    ...{ outcome: 'succeeded', errorType: '', error: undefined, sent: undefined, isSentNew: false },
    ...{ previous: undefined, receivedMs: 1, startedMs: 2, endedMs: 3, reportedMs: 4, runtimeS: 0.5 },
    ...{ waitTimeS: 1, queueTimeS: 1, prefetchTimeS: 1, args: '(secret,)', kwargs: '{}', result: 'secret' },
    ...more,
  };
}
