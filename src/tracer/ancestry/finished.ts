/**
 * What is reported of runs and sendings once nothing more is expected of them: all that traces and logs are made of. Types only.
 * Times are epoch ms by the clock of the host where it happened; undefined if not known or implausible.
 */
import type { ErrorTexts } from '../../celery/event.ts';
import type { Outcome, RunIdentity } from '../../cluster/observation.ts';

/** Which run of a task: the n-th receipt (from 0) with this number of retries. */
export interface RunPlace {
  readonly retries: number;
  readonly delivery: number;
}

/** Where a task is in its workflow, as reported by its receipt or its sending. */
export interface Ancestry {
  readonly uuid: string;
  /** Of the first task of the workflow; '' if it is not reported. */
  readonly rootId: string;
  /** Of the task that sent it; '' if none did, or it is not reported. */
  readonly parentId: string;
  /** The run of the parent that sent it: the last one received before it; the first if the parent is not known. */
  readonly parentPlace: RunPlace;
  /** The id that its trace is derived from: `rootId`, or the uuid of the ancestor, or of itself, that begins a trace of its own. */
  readonly traceRootId: string;
  /** It begins a trace of its own although it has a root, or a parent. */
  readonly beginsTrace: boolean;
  /** If it begins one: the id that the trace of its parent is derived from, where that is not `rootId`; '' if it is not known. */
  readonly parentTraceRootId?: string;
  /** Its first run in this workflow, if its id was sent before in another one, which is another trace. */
  readonly first?: RunPlace;
  /** It has a parent that no event reported, such as one that ran eagerly: that has no span. */
  readonly isParentUnknown?: boolean;
}

/** The `task-sent` of a task: the first one with its name and without retries. */
export interface SentFacts {
  readonly name: string;
  /** `unknown` if not known. */
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
  /** Reprs of the arguments, if they are read. */
  readonly args: string;
  readonly kwargs: string;
}

/** `replaced`: another task has taken over its uuid. `unknown`: no end was reported, and none is expected any more. */
export type FinishedOutcome = Outcome | 'lost' | 'replaced' | 'unknown';

/** A run that is over. A run that was reported as lost may end after all; that second end is not reported. */
export interface FinishedRun extends Ancestry, RunPlace {
  readonly kind: 'run';
  readonly run: RunIdentity;
  readonly outcome: FinishedOutcome;
  /** As on the metrics; '' unless it failed or is retried. */
  readonly errorType: string;
  /** Of a failure or a retry, if they are read. */
  readonly error: ErrorTexts | undefined;
  /** The `task-sent` of the task under this name, if it was reported before this run ended. */
  readonly sent: SentFacts | undefined;
  /** Whether `sent` is reported for the first time. */
  readonly isSentNew: boolean;
  /** Of `sent`, if it is new and not that of the run: a retry is its own parent, and may be over before the run that sent it. */
  readonly sentAncestry?: Ancestry;
  /** Of the span in which its worker ran it, if the worker reported that: untrusted text. */
  readonly workerTraceparent?: string;
  /** The run of the same uuid before this one. */
  readonly previous: (RunPlace & { readonly link: 'retry_of' | 'redelivery_of' | 'replaces' }) | undefined;
  readonly receivedMs: number | undefined;
  readonly startedMs: number | undefined;
  /** For `lost`: the last sign of life of its worker; for `unknown`: when its end began to be doubted; for `replaced`: the next receipt. */
  readonly endedMs: number | undefined;
  /** When that became known, epoch ms by our clock. */
  readonly reportedMs: number;
  /** Seconds, as on the metrics: of a success as its worker reports it, of a failure or a retry from its start to its end. */
  readonly runtimeS: number | undefined;
  /** Seconds, as on the metrics. */
  readonly waitTimeS: number | undefined;
  readonly queueTimeS: number | undefined;
  readonly prefetchTimeS: number | undefined;
  /** Reprs, if they are read; '' otherwise. */
  readonly args: string;
  readonly kwargs: string;
  readonly result: string;
}

/** A sending with which no run will be reported soon: no worker has received it, or its ETA is far. */
export interface LoneSending extends Ancestry {
  readonly kind: 'sending';
  readonly sent: SentFacts;
  readonly reportedMs: number;
}

export type Finished = FinishedRun | LoneSending;

/** A task at its first event, when it is decided in which trace it is. */
export interface NewTask {
  readonly name: string;
  /** The trace it is in unless it begins one of its own: that of its parent if it is known, else that of its root. */
  readonly traceRootId: string;
  /** From its sending (or receipt) to its ETA, ms; 0 without an ETA. */
  readonly delayMs: number;
  /** When it was sent, or received, epoch ms. */
  readonly atMs: number;
}

/** Who wants to know of finished runs, each after its end was observed. Neither may throw. */
export interface FinishedListener {
  readonly onFinished: (finished: Finished) => void;
  /** Whether a task that has a root or a parent begins a trace of its own. */
  readonly beginsTrace: (task: NewTask) => boolean;
  /** Delay from which a sending is reported alone, since its run comes much later, ms. */
  readonly delayMaxMs: number;
  /** For how long an end that may have been missed could still arrive, in listened time; default an hour. */
  readonly unknownAfterMs?: number | undefined;
}
