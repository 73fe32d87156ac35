/**
 * Makes spans, exemplars and log records of one Celery service, from its finished runs and from workers that appear and
 * leave. It keeps nothing and sends nothing; an error here does not affect the metrics.
 */
import type { BrokerUrls } from '../broker/broker-url.ts';
import { kindOf } from '../broker/kinds.ts';
import type { DecodeWants } from '../celery/decode.ts';
import type { Observation } from '../cluster/observation.ts';
import type { ExemplarFilter, LogsConfig, TracesConfig } from '../config/config.ts';
import { isCut, shownTexts } from '../logger/error-texts.ts';
import type { LogRecord } from '../logger/log-record.ts';
import { createLogger, isAboutWorker } from '../logger/logger.ts';
import { redacted } from '../logger/redaction.ts';
import type { ExemplarContext } from '../meter/bindable.ts';
import type { EventSink, ItemDropReason } from '../self/self-event.ts';
import { reasonOf } from '../text/errors.ts';
import type { Finished, FinishedListener, FinishedRun, NewTask } from '../tracer/ancestry/finished.ts';
import type { Span } from '../tracer/span.ts';
import type { TraceSettings } from '../tracer/trace-settings.ts';
import { createTracer, type Redaction, type TracedBroker, type Tracer } from '../tracer/tracer.ts';
import { RunReports } from './run-reports.ts';

/** Receivers of the spans and log records of a service; undefined: none are made. */
export interface Reports {
  readonly spans: (Pick<TracesConfig, 'settings' | 'exceptions'> & { add(span: Span): void }) | undefined;
  readonly records: { readonly settings: LogsConfig['settings']; add(record: LogRecord): void } | undefined;
  /** Which runs have exemplars on their metrics; by default none. */
  readonly exemplarFilter?: ExemplarFilter | undefined;
  /** See {@link FinishedListener}. */
  readonly unknownAfterMs?: number | undefined;
}

export interface Telemetry {
  /** The optional fields of events to decode. */
  readonly wants: DecodeWants;
  readonly listener: FinishedListener;
  /** Makes log records of workers that appear and leave. @param wallMs epoch ms */
  observe(observation: Observation, wallMs: number): void;
  /** Makes records of what was left out. Call it every few seconds. */
  look(wallMs: number): void;
  /** Does the same a last time: nothing more will come. */
  end(wallMs: number): void;
}

/** Receives finished runs, and corrections of runs that were counted as lost but ended after all. */
export interface Remembering {
  add(run: FinishedRun): void;
  correct(run: FinishedRun): void;
}

export interface TelemetryOptions extends Partial<Reports> {
  readonly service: string;
  readonly broker: { readonly urls: BrokerUrls };
  readonly report: EventSink;
  /** Receives the runs with the texts of exceptions as they were reported, unredacted. */
  readonly remember?: Remembering | undefined;
}

/** Settings that make spans of all runs and sendings, in the traces of their root tasks. */
export const EVERYTHING: TraceSettings = {
  sampler: { kind: 'always_on' },
  holdMs: 0,
  spans: 'all',
  join: false,
  sendSpans: true,
  slowAfterMs: undefined,
  maxDelayMs: Number.POSITIVE_INFINITY,
  maxSpans: Number.POSITIVE_INFINITY,
  maxAgeMs: Number.POSITIVE_INFINITY,
  newTraceFor: [],
  serviceNames: [],
  arguments: false,
  attributeValueLengthMax: undefined,
  exceptionEvents: false,
};

/** Settings that only make ids, for log records where no spans are made. */
const IDS_ONLY: TraceSettings = { ...EVERYTHING, sampler: { kind: 'always_off' }, sendSpans: false };

/** By default, texts of exceptions are shown without secrets. */
export const SHOWN: TracesConfig['exceptions'] = {
  exceptionMessage: true,
  exceptionStacktrace: true,
  redact: [],
  redactNames: [],
};

/** Which texts of exceptions to show: the settings of log records come first, then those of spans. */
export function shownSettings(
  { spans, records }: Partial<Pick<Reports, 'spans' | 'records'>> = {},
  otherwise = SHOWN,
): TracesConfig['exceptions'] {
  return records?.settings ?? spans?.exceptions ?? otherwise;
}

/**
 * @param exemplify attaches exemplars to the measurements of a run
 * @returns undefined if there is nothing to make
 */
export function createTelemetry(
  { service, spans, records, exemplarFilter = 'always_off', report, remember, ...more }: TelemetryOptions,
  exemplify?: (run: FinishedRun, context: ExemplarContext) => void,
): Telemetry | undefined {
  const isReported = spans !== undefined || records !== undefined;
  const isTraced = isReported || exemplarFilter === 'always_on';
  if (!isTraced && remember === undefined) return undefined;
  const settings = spans?.settings ?? IDS_ONLY;
  const texts = shownSettings({ spans, records });
  const tracer = createTracer(settings, tracedBroker(more.broker.urls), redactionOf(texts, settings));
  const logger = records && createLogger(records.settings);
  const addRecord = (record: LogRecord | undefined): void => {
    if (record !== undefined) records?.add(record);
  };
  const reports = new RunReports(tracer, logger, {
    addSpan: spans && ((span) => spans.add(span)),
    isRecordBySpan: records?.settings.traceBased === true,
    ...{ addRecord, exemplify, exemplarFilter },
  });

  /** Runs `act`; an error in it costs a span or a record, but no count. */
  function guarded<T>(otherwise: T, act: () => T): T {
    try {
      return act();
    } catch (error) {
      report({ kind: 'defect', service, where: 'report', reason: reasonOf(error) });
      return otherwise;
    }
  }

  function deliver(finished: Finished): void {
    if (finished.kind === 'run') remember?.add(finished);
    if (isTraced) reports.add(finished);
  }

  function reportDropped(signal: 'traces' | 'logs', reason: ItemDropReason, count: number): void {
    if (count > 0) report({ kind: 'items-dropped', service, signal, reason, count });
  }

  function look(wallMs: number, isLast: boolean): void {
    guarded(undefined, () => {
      if (isLast) reports.decideAll();
      else reports.look(wallMs);
      for (const record of logger?.ofLeftOut(wallMs, isLast) ?? []) addRecord(record);
      const { repeated = 0, rate_limited = 0 } = logger?.leftOut() ?? {};
      const dropped = reports.takeDropped();
      reportDropped('logs', 'repeated', repeated);
      reportDropped('logs', 'rate_limited', rate_limited);
      reportDropped('traces', 'unknown_root', dropped.unknown_root);
      reportDropped('traces', 'trace_undecided', dropped.trace_undecided);
    });
  }

  return {
    wants: wantsOf(settings, isReported, remember !== undefined),
    listener: {
      ...{ service, delayMaxMs: settings.maxDelayMs, ignoresSendings: !isTraced },
      unknownAfterMs: more.unknownAfterMs,
      onFinished: (finished) => guarded(undefined, () => deliver(finished)),
      ...(remember && { onEndedAfterAll: (run) => guarded(undefined, () => remember.correct(run)) }),
      ...tracesIn(tracer, guarded),
    },
    observe(observation, wallMs) {
      if (!isAboutWorker(observation)) return;
      guarded(undefined, () => addRecord(logger?.ofWorker(observation, wallMs)));
    },
    look: (wallMs) => look(wallMs, false),
    end: (wallMs) => look(wallMs, true),
  };
}

/** The calls by which the tracer follows traces. */
function tracesIn(
  tracer: Tracer,
  guarded: <T>(otherwise: T, act: () => T) => T,
): Pick<FinishedListener, 'beginsTrace' | 'onOpened' | 'onClosed'> {
  const beginsTrace = (task: NewTask) => guarded(false, () => tracer.beginsTrace(task));
  if (!tracer.holdsTraces) return { beginsTrace };
  return {
    beginsTrace,
    onOpened: (...opened) => guarded(undefined, () => tracer.opened(...opened)),
    onClosed: (...closed) => guarded(undefined, () => tracer.closed(...closed)),
  };
}

function redactionOf(texts: TracesConfig['exceptions'], { exceptionEvents }: TraceSettings): Redaction {
  // The description of a span has only the message; stack traces are long.
  const described = { ...texts, exceptionStacktrace: texts.exceptionStacktrace && exceptionEvents };
  return {
    error: (error) => shownTexts(error, described),
    text: (text) => redacted(text, texts, isCut(text)),
  };
}

/**
 * Decodes the parents of a task only for spans and log records: decoding and keeping them takes half as long as
 * counting an event.
 */
function wantsOf(settings: TraceSettings, isReported: boolean, isRemembered: boolean): DecodeWants {
  const { arguments: texts, join } = settings;
  return { lineage: isReported, errors: isReported || isRemembered, arguments: texts, traced: join };
}

/** The first address stands for all: spans do not show from which one a message came. */
function tracedBroker([url]: BrokerUrls): TracedBroker {
  const kind = kindOf(url);
  const { address = '', port } = kind.place(url) ?? {};
  return { system: kind.system, address, port };
}
