/**
 * Records the observations of a cluster in the instruments of one Celery service: which observation adds what to which
 * metric. It decides nothing about tasks and workers, and stores no values. Gauges are in `view-gauges.ts` and
 * `ended-gauges.ts`, exemplars in `exemplar-recorder.ts`.
 */
import type { Meter } from '@opentelemetry/api';
import type { ClusterView, Observation, RunIdentity } from '../cluster/observation.ts';
import type { Pace } from '../timing/cooperative.ts';
import type { FinishedRun } from '../tracer/ancestry/finished.ts';
import { WORKER_EXITS } from './attributes.ts';
import type { CounterSeries, ExemplarContext, HistogramSeries } from './bindable.ts';
import { METRICS, type MetricName, type OptIn, optInOf } from './catalog.ts';
import { endedIn } from './ended-gauges.ts';
import { ExemplarRecorder } from './exemplar-recorder.ts';
import { createInstruments, type Instruments } from './instruments.ts';
import { observeView } from './view-gauges.ts';

export type Recorder = ReturnType<typeof createRecorder>;

/** Which metrics and attributes of the catalog are recorded. */
export interface MetricChoice {
  /** Other metrics get no instruments. */
  readonly metrics: ReadonlySet<MetricName>;
  readonly optIns: ReadonlySet<OptIn>;
}

/**
 * @param view returns the current state; called at each collection, whichever metrics are enabled; may record observations
 * @param newPace as for `createInstruments`
 */
export function createRecorder(
  meter: Meter,
  view: () => Promise<ClusterView> | ClusterView,
  choice: MetricChoice,
  newPace?: () => Pace,
) {
  const byPriority = choice.optIns.has(optInOf('celery.queue.length', 'celery.queue.priority'));
  const instruments = createInstruments({
    meter,
    table: METRICS,
    isOn: (name) => choice.metrics.has(name),
    wants: (name, key) => choice.optIns.has(optInOf(name, key)),
    async onCollect(observe, pace, end) {
      const viewed = await view();
      await observeView(observe, viewed, byPriority, pace);
      end(endedIn(viewed));
    },
    ...(newPace === undefined ? {} : { newPace }),
  });
  const observations = new ObservationRecorder(instruments);
  const exemplars = new ExemplarRecorder(instruments);
  return {
    record: (observation: Observation) => observations.record(observation),
    /** Offers exemplars for the measurements of a run. To be called after the end of the run was recorded. */
    exemplify: (run: FinishedRun, context: ExemplarContext) => exemplars.offer(run, context),
    /** Flushes, then detaches from the meter. */
    close: instruments.close,
  };
}

/** The series of one identity, each created when first needed: if there are very many names, most need only one. */
class RunSeries {
  sent: CounterSeries | undefined = undefined;
  received: CounterSeries | undefined = undefined;
  queueTime: HistogramSeries | undefined = undefined;
  started: CounterSeries | undefined = undefined;
  waitTime: HistogramSeries | undefined = undefined;
  prefetchTime: HistogramSeries | undefined = undefined;
  succeeded: CounterSeries | undefined = undefined;
  runtime: HistogramSeries | undefined = undefined;
  /** By error type. */
  errors: Map<string, ErrorSeries> | undefined = undefined;
}

interface ErrorSeries {
  failed?: CounterSeries;
  retried?: CounterSeries;
  runtime?: HistogramSeries;
}

/** The cache is cleared at this many identities and error types, since each run might have new names. */
const KEPT_MAX = 30_000;

class ObservationRecorder {
  readonly #instruments: Instruments<typeof METRICS>;
  /** Keyed by the object, since equal identities are the same object; so no strings are compared. */
  readonly #runSeries = new Map<RunIdentity, RunSeries>();
  #kept = 0;

  constructor(instruments: Instruments<typeof METRICS>) {
    this.#instruments = instruments;
  }

  record(it: Observation): void {
    const { add } = this.#instruments;
    switch (it.kind) {
      case 'task-sent':
      case 'task-received':
      case 'task-started':
      case 'task-succeeded':
        this.#recordStep(it);
        break;
      case 'task-failed':
      case 'task-retried':
        this.#recordError(it);
        break;
      case 'worker-progressed':
        // Adding 0 makes a point. Only lost events need one, to show that none were lost.
        if (it.processed > 0) add('celery.worker.tasks.processed', [it.worker], it.processed);
        add('celery.worker.events.lost', [it.worker], it.eventsLost);
        break;
      case 'worker-appeared':
        // Start at 0, because the rate of a counter does not include the value that its series starts with.
        for (const reason of WORKER_EXITS) add('celery.worker.exits', [it.worker, reason], 0);
        break;
      case 'worker-exited':
        add('celery.worker.exits', [it.worker, it.reason]);
        break;
      case 'worker-cpu-used':
        if (it.userS !== undefined) add('celery.worker.cpu.time', [it.worker, 'user'], it.userS);
        if (it.systemS !== undefined) add('celery.worker.cpu.time', [it.worker, 'system'], it.systemS);
        break;
      case 'worker-returned':
        // A gauge shows that the worker is up.
        break;
      case 'clock-skewed':
      case 'loss-refuted':
        // Recorded as self telemetry.
        break;
      default:
        recordRareEnd(this.#instruments, it);
    }
  }

  /** The most frequent observations. */
  #recordStep(it: Step): void {
    const { counterSeries, histogramSeries } = this.#instruments;
    const { task, queue, worker } = it.run;
    const of = this.#seriesOf(it.run);
    switch (it.kind) {
      case 'task-sent':
        of.sent ??= counterSeries('celery.task.sent', [task, queue]);
        of.sent.add(1);
        break;
      case 'task-received':
        of.received ??= counterSeries('celery.task.received', [task, queue, worker]);
        of.received.add(1);
        if (it.queueTimeS === undefined) break;
        of.queueTime ??= histogramSeries('celery.task.queue_time', [task, queue]);
        of.queueTime.record(it.queueTimeS);
        break;
      case 'task-started':
        of.started ??= counterSeries('celery.task.started', [task, queue, worker]);
        of.started.add(1);
        if (it.waitTimeS !== undefined) {
          of.waitTime ??= histogramSeries('celery.task.wait_time', [task, queue]);
          of.waitTime.record(it.waitTimeS);
        }
        if (it.prefetchTimeS !== undefined) {
          of.prefetchTime ??= histogramSeries('celery.task.prefetch_time', [task, queue, worker]);
          of.prefetchTime.record(it.prefetchTimeS);
        }
        break;
      case 'task-succeeded':
        of.succeeded ??= counterSeries('celery.task.succeeded', [task, queue, worker]);
        of.succeeded.add(1);
        if (it.runtimeS === undefined) break;
        of.runtime ??= histogramSeries('celery.task.runtime', [task, queue, worker, undefined]);
        of.runtime.record(it.runtimeS);
        break;
    }
  }

  #recordError({ kind, run, errorType, runtimeS }: RunError): void {
    const { counterSeries, histogramSeries } = this.#instruments;
    const { task, queue, worker } = run;
    const of = this.#errorsOf(run, errorType);
    const values = [task, queue, worker, errorType] as const;
    if (kind === 'task-failed') {
      of.failed ??= counterSeries('celery.task.failed', values);
      of.failed.add(1);
    } else {
      of.retried ??= counterSeries('celery.task.retried', values);
      of.retried.add(1);
    }
    if (runtimeS === undefined) return;
    of.runtime ??= histogramSeries('celery.task.runtime', values);
    of.runtime.record(runtimeS);
  }

  #seriesOf(run: RunIdentity): RunSeries {
    return this.#runSeries.get(run) ?? this.#keep(this.#runSeries, run, new RunSeries());
  }

  #errorsOf(run: RunIdentity, errorType: string): ErrorSeries {
    const series = this.#seriesOf(run);
    series.errors ??= new Map();
    return series.errors.get(errorType) ?? this.#keep(series.errors, errorType, {});
  }

  #keep<K, S>(among: Map<K, S>, key: K, series: S): S {
    if (this.#kept >= KEPT_MAX) {
      this.#runSeries.clear();
      this.#kept = 0;
    }
    this.#kept += 1;
    among.set(key, series);
    return series;
  }
}

type RunError = Extract<Observation, { kind: `task-${'failed' | 'retried'}` }>;

type Step = Extract<Observation, { kind: `task-${'sent' | 'received' | 'started' | 'succeeded'}` }>;

type RareEnd = Extract<Observation, { kind: `task-${'rejected' | 'revoked' | 'cancelled' | 'lost'}` }>;

function recordRareEnd({ add }: Instruments<typeof METRICS>, it: RareEnd): void {
  const { task, queue, worker } = it.run;
  switch (it.kind) {
    case 'task-rejected':
      add('celery.task.rejected', [task, queue, worker, it.requeue]);
      break;
    case 'task-revoked':
      add('celery.task.revoked', [task, queue, worker, it.revocation]);
      break;
    case 'task-cancelled':
      add('celery.task.cancelled', [task, queue, worker]);
      break;
    case 'task-lost':
      add('celery.task.lost', [task, queue, worker]);
      break;
    default:
      it satisfies never;
  }
}
