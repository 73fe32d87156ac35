/** The facts from which the attributes of a span are read. Types only. */
import type { ErrorTexts } from '../celery/event.ts';
import type { Ancestry, FinishedRun, SentFacts } from './ancestry/finished.ts';
import type { TraceSettings } from './trace-settings.ts';

/** The broker, in the terms of the span attributes. */
export interface TracedBroker {
  /** Undefined for a recording. */
  readonly system: string | undefined;
  /** '' if there is none. */
  readonly address: string;
  readonly port: number | undefined;
}

/** Removes secrets and excluded parts from texts before they are exported. */
export interface Redaction {
  readonly error: (error: ErrorTexts) => ErrorTexts;
  /** Redacts arguments and results. */
  readonly text: (text: string) => string;
}

/** The context that is the same for all spans. */
export interface Surroundings {
  readonly settings: TraceSettings;
  readonly broker: TracedBroker;
  readonly redaction: Redaction;
}

/** The values that many spans share. */
export interface SpanNames {
  readonly operation: 'send' | 'process';
  readonly task: string;
  readonly queue: string;
  /** '' for a sending. */
  readonly worker: string;
  /** '' if unknown. */
  readonly destination: string;
}

export interface SpanFacts extends SpanNames {
  readonly reported: Ancestry;
  /** Of a run only. */
  readonly run: FinishedRun | undefined;
  /** Of a sending only. */
  readonly sent: SentFacts | undefined;
  /** From the start of the run to its end; undefined if the run did not start. */
  readonly durationMs: number | undefined;
  /** Whether the trace does not show the id of the root. */
  readonly isRootHidden: boolean;
  /** Whether the trace does not show the id of the parent. */
  readonly isParentHidden: boolean;
}
