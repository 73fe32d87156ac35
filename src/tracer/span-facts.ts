/** What the attributes of one span are made of. Types only. */
import type { ErrorTexts } from '../celery/event.ts';
import type { Ancestry, FinishedRun, SentFacts } from './ancestry/finished.ts';
import type { TraceSettings } from './trace-settings.ts';

/** The broker, as attributes name it. */
export interface TracedBroker {
  /** Undefined: a recording. */
  readonly system: 'rabbitmq' | 'redis' | undefined;
  /** '' if there is none. */
  readonly address: string;
  readonly port: number | undefined;
}

/** Makes texts fit to be exported: without secrets, and without what is not wanted. */
export interface Redaction {
  readonly error: (error: ErrorTexts) => ErrorTexts;
  /** Of arguments and results. */
  readonly text: (text: string) => string;
}

/** What does not change from span to span. */
export interface Surroundings {
  readonly settings: TraceSettings;
  readonly broker: TracedBroker;
  readonly redaction: Redaction;
}

/** What many spans have in common. */
export interface SpanNames {
  readonly operation: 'send' | 'process';
  readonly task: string;
  readonly queue: string;
  /** '' for a sending. */
  readonly worker: string;
  /** '' if not known. */
  readonly destination: string;
}

export interface SpanFacts extends SpanNames {
  readonly reported: Ancestry;
  /** Of a run only. */
  readonly run: FinishedRun | undefined;
  /** Of a sending only. */
  readonly sent: SentFacts | undefined;
  /** From its start to its end; undefined if it did not start. */
  readonly durationMs: number | undefined;
  /** The ids of the root and of the parent cannot be read off the trace. */
  readonly isRootHidden: boolean;
  readonly isParentHidden: boolean;
}
