/**
 * From instruments to one backend: a MeterProvider per resource, all exported by one loop through one exporter. It does not
 * know what is measured, nor for which resources.
 */
import type { MeterProvider } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Turn } from '../turns.ts';
import type { Overflow } from './collect/collected-metric.ts';
import type { GaugeCombination } from './collect/gauge-stream.ts';
import { createExportHistory, type Recovery } from './export/export-history.ts';
import { createExportLoop } from './export/export-loop.ts';
import type { ExportOutcome } from './export/export-source.ts';
import { createWarmUp } from './export/warm-up.ts';
import type { OtlpSettings, StreamSettings } from './otlp-settings.ts';
import { createProvider, type Provider } from './provider.ts';
import { createExporter } from './send/create-exporter.ts';
import { SIGNALS } from './signals.ts';

/** A finished export. */
export interface EndedExport extends Omit<ExportOutcome, 'items' | 'rejectedItems'> {
  /** Points that arrived, rejected ones included. */
  readonly points: number;
  readonly rejectedPoints: number;
  /** Endpoint and protocol, without secrets. */
  readonly backend: string;
  /** The series of failures that it ended, if any. */
  readonly recovery: Recovery | undefined;
}

/** Options of one provider. */
export interface OpenOptions {
  /** How gauges of an instrument are combined, by its name. */
  readonly combination: (instrument: string) => GaugeCombination;
  /** A series idle for this long gives way to a new one if the limit is reached. By default none does. */
  readonly retentionMs?: number;
  /** Raises the settings’ cardinality limits to at least this, but not those of views. */
  readonly pointsMin?: number;
}

export interface PipelineOptions {
  readonly settings: OtlpSettings;
  /** Called after each export of the provider with this name. */
  readonly onExport: (name: string, ended: EndedExport) => void;
  /** A bug, or an observable callback that threw. Everything else continues. */
  readonly onDefect: (name: string, reason: unknown) => void;
  /** A metric of the provider with this name reached its cardinality limit. */
  readonly onOverflow?: (name: string, overflow: Overflow) => void;
  /** In [0, 1), for the jitter of retries. */
  readonly random: () => number;
  /** Awaited before each long piece of work. */
  readonly turn: Turn;
}

export interface Pipeline {
  /**
   * A provider whose metrics are exported once the pipeline has started.
   * @param name for events and logs; it is not exported
   */
  open(name: string, resource: Resource, options: OpenOptions): Provider;
  /** Records the SDK’s exporter metrics with this provider from now on. */
  observe(meterProvider: MeterProvider): void;
  /** The first export is one interval from now. */
  start(): void;
  /** Whether the backend ever accepted points of the provider with this name. */
  hasArrived(name: string): boolean;
  /** Whether the backend rejected points of the last export that arrived. */
  isRejected(name: string): boolean;
  /**
   * Exports once more, group by group, each with a share of the time, and closes.
   * @returns the names of the providers whose metrics did not all arrive
   */
  close(groups: readonly (readonly Provider[])[], deadlineMs: number): Promise<ReadonlySet<string>>;
}

/** Share of the time for exports still in progress. */
const UNDER_WAY_SHARE = 0.25;
/** Share of the remaining time for each group but the last, since the first group matters most. */
const GROUP_SHARE = 0.75;

export function createPipeline(options: PipelineOptions): Pipeline {
  const { settings, onExport, onDefect, onOverflow, random, turn } = options;
  const { schedule, streams } = settings;
  // A request must not outlive its export.
  const timeoutMs = Math.min(settings.exporter.timeoutMs, schedule.timeoutMs);
  const exporter = createExporter({ ...settings.exporter, timeoutMs }, SIGNALS.metrics);
  const providers: Provider[] = [];
  const history = createExportHistory();
  const loop = createExportLoop({
    exporter: {
      async export(metrics: ResourceMetrics) {
        await turn();
        return exporter.export(metrics);
      },
    },
    warmUp: createWarmUp(SIGNALS.metrics.encode.protobuf),
    intervalMs: schedule.intervalMs,
    onExport({ name }, outcome) {
      const recovery = history.note(name, outcome, performance.now());
      const { items: points, rejectedItems: rejectedPoints, ...others } = outcome;
      onExport(name, { ...others, points, rejectedPoints, backend: exporter.backend, recovery });
    },
    onDefect: ({ name }, reason) => onDefect(name, reason),
    random,
  });
  return {
    open(name, resource, { pointsMin = 0, ...others }) {
      const provider = createProvider({
        name,
        resource,
        settings: { ...streams, limits: atLeast(pointsMin, streams.limits) },
        pointsPerRequestMax: schedule.pointsPerRequestMax,
        ...others,
        onFailure: (reason) => onDefect(name, reason),
        onOverflow: (overflow) => onOverflow?.(name, overflow),
        turn,
      });
      providers.push(provider);
      return provider;
    },
    observe: exporter.observe,
    start: () => loop.start(providers),
    hasArrived: history.hasArrived,
    isRejected: history.isRejected,
    async close(groups, deadlineMs) {
      const endMs = performance.now() + deadlineMs;
      const leftMs = (): number => Math.max(0, endMs - performance.now());
      const unsent = new Set<string>();
      // A request that hangs must not take all the time.
      await loop.stop(leftMs() * UNDER_WAY_SHARE);
      for (const [index, group] of groups.entries()) {
        const shareMs = index === groups.length - 1 ? leftMs() : leftMs() * GROUP_SHARE;
        const left = await loop.flush(group, shareMs);
        for (const { name } of left) unsent.add(name);
      }
      exporter.close();
      return unsent;
    },
  };
}

function atLeast(points: number, { counter, histogram, gauge }: StreamSettings['limits']) {
  const raised = (limit: number): number => Math.max(limit, points);
  return { counter: raised(counter), histogram: raised(histogram), gauge: raised(gauge) };
}
