/**
 * Opens the destinations of the spans and log records of each service: one backend for each signal, in batches, or a
 * part that the embedding program attached. Metrics have their own destinations, which go first.
 */
import type { MeterProvider } from '@opentelemetry/api';
import type { LogRecord } from '../logger/log-record.ts';
import { providedRecords } from '../otlp/attach/logger-provider.ts';
import { processedSpans } from '../otlp/attach/span-processor.ts';
import { type BatchExport, type BatchExportOptions, createBatchExport } from '../otlp/batch-export.ts';
import { serviceResource } from '../otlp/resource.ts';
import { ITEM_SIGNALS, type ItemSignal } from '../otlp/signals.ts';
import type { BatchedSignal, EventSink } from '../self/self-event.ts';
import type { Reports } from '../service/telemetry.ts';
import { reasonOf } from '../text/errors.ts';
import type { YieldToLoop } from '../timing/cooperative.ts';
import type { Span } from '../tracer/span.ts';
import type { BridgeOptions, BridgeService, LogsOptions, TracesOptions } from './bridge-options.ts';

export interface ReportDestinationsContext {
  readonly report: EventSink;
  /** The name of the bridge in events about batches, which may contain items of several services. */
  readonly self: string;
  /** Returns a number in [0, 1). */
  readonly random: () => number;
  /** Awaited before each long piece of work. */
  readonly yieldToLoop: YieldToLoop;
}

type Adds<Item> = (item: Item) => void;

export function createTelemetryDestinations(
  {
    services,
    traces,
    logs,
    exemplarFilter = 'trace_based',
  }: Pick<BridgeOptions, 'services' | 'traces' | 'logs' | 'exemplarFilter'>,
  context: ReportDestinationsContext,
) {
  const isSendingSpans = services.some(({ spanProcessor }) => spanProcessor === undefined);
  const isSendingRecords = services.some(({ loggerProvider }) => loggerProvider === undefined);
  const spans = isSendingSpans ? openBatches('traces', ITEM_SIGNALS.traces, traces, context) : undefined;
  const records = isSendingRecords ? openBatches('logs', ITEM_SIGNALS.logs, logs, context) : undefined;
  const all = [spans, records].filter((each) => each !== undefined);

  function spanSink({ name, attributes, spanProcessor }: BridgeService): Adds<Span> | undefined {
    const resource = serviceResource(name, attributes);
    return spanProcessor === undefined
      ? spans?.open(name, resource).add
      : guarded(name, context, processedSpans(spanProcessor, resource));
  }

  function recordSink({ name, attributes, loggerProvider }: BridgeService): Adds<LogRecord> | undefined {
    return loggerProvider === undefined
      ? records?.open(name, serviceResource(name, attributes)).add
      : guarded(name, context, providedRecords(loggerProvider));
  }

  return {
    /** Whether the bridge sends any spans or log records. */
    isUsed: all.length > 0,
    reportsOf(service: BridgeService): Reports {
      const addSpan = traces && spanSink(service);
      const addRecord = logs && recordSink(service);
      return {
        spans: traces && addSpan && { ...traces, add: addSpan },
        records: logs && addRecord && { settings: logs.settings, add: addRecord },
        // The provider of another program takes no ids.
        exemplarFilter: service.meterProvider === undefined ? exemplarFilter : 'always_off',
      };
    },
    /** Makes the exporters record the SDK’s exporter metrics in this provider from now on. */
    observe(provider: MeterProvider): void {
      for (const each of all) each.observe(provider);
    },
    start(): void {
      for (const each of all) each.start();
    },
    /** Sends what is queued until the deadline, and closes. */
    async close(deadlineMs: number): Promise<void> {
      await Promise.all(all.map((each) => each.close(deadlineMs)));
    },
  };
}

/** An exception from an attached part costs one span or record, and is reported. */
function guarded<Item>(
  service: string,
  { report }: Pick<ReportDestinationsContext, 'report'>,
  add: Adds<Item>,
): Adds<Item> {
  const threw = (error: unknown) =>
    report({ kind: 'defect', service, where: 'attached_provider', reason: reasonOf(error) });
  return (item) => {
    try {
      const returned: unknown = add(item);
      // An async function fits the type, and its rejection would be unhandled.
      if (returned instanceof Promise) returned.catch(threw);
    } catch (error) {
      threw(error);
    }
  };
}

function openBatches<Item>(
  signal: BatchedSignal,
  of: ItemSignal<Item>,
  options: TracesOptions | LogsOptions | undefined,
  context: ReportDestinationsContext,
): BatchExport<Item> | undefined {
  const { exporter, batch } = options ?? {};
  if (exporter === undefined || batch === undefined) return undefined;
  return createBatchExport(of, exporter, batch, batchOptions(signal, context));
}

function batchOptions(
  signal: BatchedSignal,
  { report, self, random, yieldToLoop }: ReportDestinationsContext,
): BatchExportOptions {
  return {
    onExport({ recovery, backend, outcome, durationMs, items, rejectedItems, reason }) {
      const finished = { backend, outcome, durationMs, items, rejectedItems, reason };
      report({ kind: 'batch-finished', service: self, signal, ...finished });
      if (recovery !== undefined)
        report({ kind: 'exports-recovered', service: signal, backend, ...recovery });
    },
    onDrop: (service, reason, count) => report({ kind: 'items-dropped', service, signal, reason, count }),
    onDefect: (reason) =>
      report({ kind: 'defect', service: self, where: 'export', reason: reasonOf(reason) }),
    random,
    yieldToLoop,
  };
}
