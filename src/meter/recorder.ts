/**
 * From what the cluster observes to the instruments of one Celery service: here is what each fact adds to which metric.
 * It decides nothing about tasks and workers, and keeps nothing of a series but where it is found.
 */
import type { Meter } from '@opentelemetry/api';
import type {
  ClusterView,
  Observation,
  QueueReading,
  RunIdentity,
  WorkerReading,
} from '../cluster/observation.ts';
import type { Pace } from '../turns.ts';
import { WORKER_EXITS } from './attributes.ts';
import type { CounterSeries } from './bindable.ts';
import { METRICS, type MetricName, type OptIn, optInOf } from './catalog.ts';
import { createInstruments, type HistogramSeries, type Instruments, type Observe } from './instruments.ts';

export interface Recorder {
  record(observation: Observation): void;
  /** Detaches from the meter; what was recorded and not collected yet is handed over first. */
  close(): void;
}

/** What of the catalog is recorded. */
export interface MetricChoice {
  /** Of all others there are no instruments. */
  readonly metrics: ReadonlySet<MetricName>;
  readonly optIns: ReadonlySet<OptIn>;
}

/**
 * @param view asked at each collection for what is true then, whatever is enabled; may record observations
 * @param newPace as for `createInstruments`
 */
export function createRecorder(
  meter: Meter,
  view: () => Promise<ClusterView> | ClusterView,
  choice: MetricChoice,
  newPace?: () => Pace,
): Recorder {
  const instruments = createInstruments({
    meter,
    table: METRICS,
    isOn: (name) => choice.metrics.has(name),
    wants: (name, key) => choice.optIns.has(optInOf(name, key)),
    async onCollect(observe, pace) {
      const { workers, queues } = await view();
      for (const reading of workers) {
        observeWorker(observe, reading);
        await pace();
      }
      for (const reading of queues) {
        observeQueue(observe, reading);
        await pace();
      }
    },
    ...(newPace === undefined ? {} : { newPace }),
  });
  const observations = new ObservationRecorder(instruments);
  return {
    record: (observation) => observations.record(observation),
    close: instruments.close,
  };
}

function observeWorker(observe: Observe<typeof METRICS>, it: WorkerReading): void {
  const of = [it.worker] as const;
  observe('celery.worker.up', it.up ? 1 : 0, of);
  observe('celery.worker.tasks.active', it.active, of);
  observe('celery.worker.tasks.prefetched', it.prefetched, of);
  observe('celery.worker.tasks.scheduled', it.scheduled, of);
  observe('celery.worker.heartbeat.age', it.heartbeatAgeS, of);
  if (it.load !== undefined) {
    const [ofOne, ofFive, ofFifteen] = it.load;
    observe('celery.worker.load', ofOne, [it.worker, '1m']);
    observe('celery.worker.load', ofFive, [it.worker, '5m']);
    observe('celery.worker.load', ofFifteen, [it.worker, '15m']);
  }
  for (const [index, { version, system }] of it.versions.entries()) {
    const isPresent = it.up && index === 0;
    observe('celery.worker.info', isPresent ? 1 : 0, [it.worker, version, system.toLowerCase() || 'unknown']);
  }
}

function observeQueue(observe: Observe<typeof METRICS>, it: QueueReading): void {
  observe('celery.task.oldest_age', it.waitingAgeS, [it.queue, 'waiting']);
  observe('celery.task.oldest_age', it.runningAgeS, [it.queue, 'running']);
}

/**
 * The series of one identity to which something is added with nearly every run, each found when it is first needed: a name
 * that is received and never heard of again costs the series of its receipt only.
 */
class RunSeries {
  readonly #instruments: Instruments<typeof METRICS>;
  readonly #run: RunIdentity;
  #receipt: { readonly received: CounterSeries; readonly queueTime: HistogramSeries } | undefined;
  #start:
    | {
        readonly started: CounterSeries;
        readonly waitTime: HistogramSeries;
        readonly prefetchTime: HistogramSeries;
      }
    | undefined;
  #success: { readonly succeeded: CounterSeries; readonly runtime: HistogramSeries } | undefined;

  constructor(instruments: Instruments<typeof METRICS>, run: RunIdentity) {
    this.#instruments = instruments;
    this.#run = run;
  }

  get receipt() {
    const { counterSeries, histogramSeries } = this.#instruments;
    const { task, queue, worker } = this.#run;
    this.#receipt ??= {
      received: counterSeries('celery.task.received', [task, queue, worker]),
      queueTime: histogramSeries('celery.task.queue_time', [task, queue]),
    };
    return this.#receipt;
  }

  get start() {
    const { counterSeries, histogramSeries } = this.#instruments;
    const { task, queue, worker } = this.#run;
    this.#start ??= {
      started: counterSeries('celery.task.started', [task, queue, worker]),
      waitTime: histogramSeries('celery.task.wait_time', [task, queue]),
      prefetchTime: histogramSeries('celery.task.prefetch_time', [task, queue, worker]),
    };
    return this.#start;
  }

  get success() {
    const { counterSeries, histogramSeries } = this.#instruments;
    const { task, queue, worker } = this.#run;
    this.#success ??= {
      succeeded: counterSeries('celery.task.succeeded', [task, queue, worker]),
      runtime: histogramSeries('celery.task.runtime', [task, queue, worker, undefined]),
    };
    return this.#success;
  }
}

/** Beyond it they are found anew: runs keep their identities, and in a flood of names each has one of its own. */
const RUN_SERIES_MAX = 10_000;

/** Takes observations of one service. */
class ObservationRecorder {
  readonly #instruments: Instruments<typeof METRICS>;
  /** The same identity is the same object, so no text has to be compared for the most frequent observations. */
  #runSeries = new WeakMap<RunIdentity, RunSeries>();
  #size = 0;

  constructor(instruments: Instruments<typeof METRICS>) {
    this.#instruments = instruments;
  }

  record(it: Observation): void {
    const { add } = this.#instruments;
    switch (it.kind) {
      case 'task-sent':
        add('celery.task.sent', [it.task, it.queue]);
        break;
      case 'task-received': {
        const { received, queueTime } = this.#seriesOf(it.run).receipt;
        received.add(1);
        if (it.queueTimeS !== undefined) queueTime.record(it.queueTimeS);
        break;
      }
      case 'task-started': {
        const { started, waitTime, prefetchTime } = this.#seriesOf(it.run).start;
        started.add(1);
        if (it.waitTimeS !== undefined) waitTime.record(it.waitTimeS);
        if (it.prefetchTimeS !== undefined) prefetchTime.record(it.prefetchTimeS);
        break;
      }
      case 'task-succeeded': {
        const { succeeded, runtime } = this.#seriesOf(it.run).success;
        succeeded.add(1);
        if (it.runtimeS !== undefined) runtime.record(it.runtimeS);
        break;
      }
      case 'worker-progressed':
        // A sum to which nothing is added need not exist; that of lost events must, to show that there are none.
        if (it.processed > 0) add('celery.worker.tasks.processed', [it.worker], it.processed);
        add('celery.worker.events.lost', [it.worker], it.eventsLost);
        break;
      case 'worker-appeared':
        // There is no rate of a counter that begins with the first exit.
        for (const reason of WORKER_EXITS) add('celery.worker.exits', [it.worker, reason], 0);
        break;
      case 'worker-exited':
        add('celery.worker.exits', [it.worker, it.reason]);
        break;
      case 'clock-skewed':
      case 'loss-refuted':
        // Is about the measuring, so the bridge tells it of itself.
        break;
      default:
        recordRareEnd(this.#instruments, it);
    }
  }

  #seriesOf(run: RunIdentity): RunSeries {
    let series = this.#runSeries.get(run);
    if (series === undefined) {
      if (this.#size >= RUN_SERIES_MAX) {
        this.#runSeries = new WeakMap();
        this.#size = 0;
      }
      series = new RunSeries(this.#instruments, run);
      this.#runSeries.set(run, series);
      this.#size += 1;
    }
    return series;
  }
}

type RareEnd = Extract<
  Observation,
  { kind: `task-${'failed' | 'retried' | 'rejected' | 'revoked' | 'cancelled' | 'lost'}` }
>;

function recordRareEnd({ add, record }: Instruments<typeof METRICS>, it: RareEnd): void {
  const { task, queue, worker } = it.run;
  switch (it.kind) {
    case 'task-failed':
      add('celery.task.failed', [task, queue, worker, it.errorType]);
      record('celery.task.runtime', it.runtimeS, [task, queue, worker, it.errorType]);
      break;
    case 'task-retried':
      add('celery.task.retried', [task, queue, worker, it.errorType]);
      record('celery.task.runtime', it.runtimeS, [task, queue, worker, it.errorType]);
      break;
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
