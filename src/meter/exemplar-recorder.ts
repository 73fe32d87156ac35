/**
 * Offers exemplars of finished runs to the series in which the recorder recorded their measurements, found by the same
 * attributes. It does not decide which runs have exemplars, and records no measurements.
 */

import type { RunIdentity } from '../cluster/observation.ts';
import type { FinishedRun } from '../tracer/ancestry/finished.ts';
import type { ExemplarContext, OfferExemplar } from './bindable.ts';
import type { METRICS } from './catalog.ts';
import type { Instruments } from './instruments.ts';

/** The series of runs with one identity and one type of error, each looked up when first needed. */
interface Offers {
  queueTime?: OfferExemplar;
  waitTime?: OfferExemplar;
  prefetchTime?: OfferExemplar;
  runtime?: OfferExemplar;
  failed?: OfferExemplar;
  retried?: OfferExemplar;
  lost?: OfferExemplar;
}

/** The cache is cleared at this many identities and error types, like that of the recorder. */
const KEPT_MAX = 30_000;

export class ExemplarRecorder {
  readonly #instruments: Instruments<typeof METRICS>;
  /** By identity (equal identities are the same object), then by error type. */
  readonly #offers = new Map<RunIdentity, Map<string, Offers>>();
  #kept = 0;

  constructor(instruments: Instruments<typeof METRICS>) {
    this.#instruments = instruments;
  }

  /** To be called after the end of the run was recorded. */
  offer(run: FinishedRun, context: ExemplarContext): void {
    const { exemplars } = this.#instruments;
    const { outcome, errorType, queueTimeS, waitTimeS, prefetchTimeS, runtimeS } = run;
    const { task, queue, worker } = run.run;
    const of = this.#offersOf(run.run, errorType);
    if (queueTimeS !== undefined) {
      of.queueTime ??= exemplars('celery.task.queue_time', [task, queue]);
      of.queueTime(queueTimeS, context);
    }
    if (waitTimeS !== undefined) {
      of.waitTime ??= exemplars('celery.task.wait_time', [task, queue]);
      of.waitTime(waitTimeS, context);
    }
    if (prefetchTimeS !== undefined) {
      of.prefetchTime ??= exemplars('celery.task.prefetch_time', [task, queue, worker]);
      of.prefetchTime(prefetchTimeS, context);
    }
    if (runtimeS !== undefined) {
      const type = outcome === 'succeeded' ? undefined : errorType;
      of.runtime ??= exemplars('celery.task.runtime', [task, queue, worker, type]);
      of.runtime(runtimeS, context);
    }
    if (outcome === 'failed' || outcome === 'retried') {
      of[outcome] ??= exemplars(`celery.task.${outcome}`, [task, queue, worker, errorType]);
      of[outcome](1, context);
    } else if (outcome === 'lost') {
      of.lost ??= exemplars('celery.task.lost', [task, queue, worker]);
      of.lost(1, context);
    }
  }

  #offersOf(run: RunIdentity, errorType: string): Offers {
    const known = this.#offers.get(run)?.get(errorType);
    if (known !== undefined) return known;
    if (this.#kept >= KEPT_MAX) {
      this.#offers.clear();
      this.#kept = 0;
    }
    this.#kept += 1;
    const byErrorType = this.#offers.get(run) ?? new Map<string, Offers>();
    this.#offers.set(run, byErrorType);
    const made: Offers = {};
    byErrorType.set(errorType, made);
    return made;
  }
}
