/**
 * The facts reported about finished runs and sendings, from which traces and logs are made. Types only. Times are epoch
 * ms by the clock of the host concerned; undefined if unknown or implausible.
 */
import type { ErrorTexts } from '../../celery/event.ts';
import type { Outcome, RunIdentity } from '../../cluster/observation.ts';

/** Which run of a task: the n-th receipt (from 0) with this number of retries. */
export interface RunPlace {
  readonly retries: number;
  readonly delivery: number;
}

/** The position of a task in its workflow, as reported by its receipt or its sending. */
export interface Ancestry {
  readonly uuid: string;
  /** The id of the first task of the workflow; '' if not reported. */
  readonly rootId: string;
  /** The id of the task that sent this task; '' if no task did, or if it was not reported. */
  readonly parentId: string;
  /** Which run of the parent sent the task: the last one that had started by then; the first if the parent is unknown. */
  readonly parentPlace: RunPlace;
  /** The id from which the trace is derived: `rootId`, or the uuid of the nearest task (itself or an ancestor) that begins a new trace. */
  readonly traceRootId: string;
  /** Whether the task begins a new trace although it has a root or a parent. */
  readonly beginsTrace: boolean;
  /** If the task begins a new trace: the id from which the trace of its parent is derived, if that is not `rootId`; '' if unknown. */
  readonly parentTraceRootId?: string;
  /** The first run of the task in this workflow, if the same id was sent earlier in another workflow and so in another trace. */
  readonly first?: RunPlace;
  /** Whether no event reported the parent (for example, because it ran eagerly). Such a parent has no span. */
  readonly isParentUnknown?: boolean;
  /**
   * The traceparent of the span in which a worker ran an earlier run of the task, or the task that sent it, or its root; whichever
   * is the first one that was reported. It is untrusted text.
   */
  readonly workersTraceparent?: string;
}

/** What a worker reports of the span in which it runs a task. Both are untrusted texts. */
export interface WorkerSpan {
  readonly traceparent: string;
  /** '' if not reported. */
  readonly parentSpanId: string;
}

/** The first `task-sent` of a task under this name and without retries. */
export interface SentFacts {
  readonly name: string;
  /** `unknown` if not reported. */
  readonly queue: string;
  /** '' is the default exchange. */
  readonly exchange: string;
  /** Without the bits of native delayed delivery. */
  readonly routingKey: string;
  /** Nodename of the sender. */
  readonly sender: string;
  readonly sentMs: number | undefined;
  readonly etaMs: number | undefined;
  readonly expiresMs: number | undefined;
  /** Reprs of the arguments, if enabled. */
  readonly args: string;
  readonly kwargs: string;
  /** Whether the id of the task had been used before, for another task. */
  readonly isAnew?: boolean;
  /** Of the sending of a retry: how often the task was retried, at least 1. */
  readonly retries?: number;
}

/**
 * `redelivered`: its worker died, and the message went back to its queue. `replaced`: another task has taken over its uuid.
 * `unknown`: no end was reported, and none is expected.
 */
export type FinishedOutcome = Outcome | 'lost' | 'redelivered' | 'replaced' | 'unknown';

/** A run that is over. If a run that was reported as lost ends after all, that end is not reported. */
export interface FinishedRun extends Ancestry, RunPlace {
  readonly kind: 'run';
  readonly run: RunIdentity;
  readonly outcome: FinishedOutcome;
  /** The class of the exception, as on the metrics; '' unless the run failed or is retried. */
  readonly errorType: string;
  /** The texts of a failure or a retry, if enabled. */
  readonly error: ErrorTexts | undefined;
  /** The `task-sent` of the task under this name, if it was reported before this run ended. */
  readonly sent: SentFacts | undefined;
  /** The `task-sent` of this run if it is a retry, if it was reported: its sender is the run that was retried. */
  readonly retrySent?: SentFacts;
  /** Whether `sent` is reported for the first time. */
  readonly isSentNew: boolean;
  /**
   * The ancestry of `sent`, if it is new and has another parent than the run. That happens with retries: the sending has the
   * task itself as its parent, and may be reported with a run that ends before the run that sent it.
   */
  readonly sentAncestry?: Ancestry;
  /** The span in which the worker ran the task, if reported. */
  readonly workerSpan?: WorkerSpan;
  /** The run of the same uuid before this one. */
  readonly previous: (RunPlace & { readonly link: 'retry_of' | 'redelivery_of' | 'replaces' }) | undefined;
  readonly receivedMs: number | undefined;
  readonly startedMs: number | undefined;
  /**
   * For `lost` and `redelivered`: the last sign of life of its worker; for `unknown`: when its end began to be doubted; for `replaced`:
   * the next receipt.
   */
  readonly endedMs: number | undefined;
  /** When the end became known, epoch ms by our clock. */
  readonly reportedMs: number;
  /** Seconds, as on the metrics. The worker reports that of a success; that of a failure or a retry is from start to end. */
  readonly runtimeS: number | undefined;
  /** Seconds, as on the metrics. */
  readonly waitTimeS: number | undefined;
  readonly queueTimeS: number | undefined;
  readonly prefetchTimeS: number | undefined;
  /** Reprs, if enabled; '' otherwise. */
  readonly args: string;
  readonly kwargs: string;
  readonly result: string;
}

/** A sending that is reported without a run: no worker has received the task, or its ETA is far. */
export interface LoneSending extends Ancestry {
  readonly kind: 'sending';
  readonly sent: SentFacts;
  readonly reportedMs: number;
}

export type Finished = FinishedRun | LoneSending;

/** A task at its first event, when its trace is decided. */
export interface NewTask {
  readonly name: string;
  /** The id of the trace that the task joins unless it begins a new one: its parent’s trace if known, otherwise its root’s. */
  readonly traceRootId: string;
  /** From its sending (or receipt) to its ETA, ms; 0 without an ETA. */
  readonly delayMs: number;
  /** When it was sent, or received, epoch ms. */
  readonly atMs: number;
}

/** Receives finished runs, each after its end was observed. Callbacks must not throw. */
export interface FinishedListener {
  /** The name of the service: the same id may be used in another cluster. */
  readonly service: string;
  readonly onFinished: (finished: Finished) => void;
  /** A run that was reported without its end, as `lost` or `unknown`, has ended after all. */
  readonly onEndedAfterAll?: (run: FinishedRun) => void;
  /** Whether a task that has a root or a parent begins a new trace. */
  readonly beginsTrace: (task: NewTask) => boolean;
  /**
   * A run was received, or a task was sent, in the trace. Called only if there are both of these.
   * @param isRepeat whether the run repeats an earlier one
   * @param nowMs epoch ms by our clock
   */
  readonly onOpened?: (traceRootId: string, isRepeat: boolean, nowMs: number) => void;
  /** The run is over, after `onFinished`; or the sent task was received. */
  readonly onClosed?: (traceRootId: string, nowMs: number) => void;
  /** The delay beyond which a sending is reported on its own, because its run follows much later, ms. */
  readonly delayMaxMs: number;
  /** Whether nothing is needed of sendings, which are as many as tasks: runs are reported without theirs. */
  readonly ignoresSendings?: boolean;
  /** How long the bridge waits for an end that may have been missed, in listened time, ms; default: `UNKNOWN_AFTER_MS`. */
  readonly unknownAfterMs?: number | undefined;
}
