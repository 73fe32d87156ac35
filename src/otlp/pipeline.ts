/**
 * From instruments to one backend: a provider for each resource, all exported by one loop through one exporter. What is
 * measured, and under which resources, is not known here.
 */
import type { MeterProvider } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { Turn } from '../turns.ts';
import type { Overflow } from './collect/collected-metric.ts';
import type { GaugeCombination } from './collect/gauge-stream.ts';
import { createExportHistory, type Recovery } from './export/export-history.ts';
import { createExportLoop } from './export/export-loop.ts';
import type { ExportOutcome } from './export/export-source.ts';
import type { OtlpSettings, StreamSettings } from './otlp-settings.ts';
import { createProvider, type Provider } from './provider.ts';
import { createExporter } from './send/create-exporter.ts';
import { SIGNALS } from './signals.ts';

/** An export that has ended. */
export interface EndedExport extends ExportOutcome {
  /** Where it went and how, without secrets. */
  readonly backend: string;
  /** The failures that are over with it. */
  readonly recovery: Recovery | undefined;
}

/** What is different about the metrics of one provider. */
export interface OpenOptions {
  /** How gauges are combined, by the name of the instrument. */
  readonly combination: (instrument: string) => GaugeCombination;
  /** Of a series that was idle for so long, the place goes to another where all are taken; by default, of none. */
  readonly retentionMs?: number;
  /** Points that a metric may have whatever the settings say, unless a view limits it. */
  readonly pointsMin?: number;
}

export interface PipelineOptions {
  readonly settings: OtlpSettings;
  /** An export of the provider with this name has ended. */
  readonly onExport: (name: string, ended: EndedExport) => void;
  /** A mistake of ours, or of whoever registered an observable callback; the rest goes on. */
  readonly onDefect: (name: string, reason: unknown) => void;
  /** A metric of the provider with this name has no place for all that is measured. */
  readonly onOverflow?: (name: string, overflow: Overflow) => void;
  /** In [0, 1); spreads what is tried again. */
  readonly random: () => number;
  /** Waited for before each piece of work that takes long. */
  readonly turn: Turn;
}

export interface Pipeline {
  /**
   * A provider whose metrics are exported from the start on.
   * @param name what it is called in what is told; not what is exported
   */
  open(name: string, resource: Resource, options: OpenOptions): Provider;
  /** From now on the SDK’s metrics of exporters are recorded there. */
  observe(meterProvider: MeterProvider): void;
  /** The first export is one interval from now. */
  start(): void;
  /** Whether anything of the provider with this name has ever arrived and was not rejected. */
  hasArrived(name: string): boolean;
  /** Whether the backend rejected points of its last export that arrived. */
  isRejected(name: string): boolean;
  /**
   * Exports once more, the one group after the other, and closes; each has its part of the time.
   * @returns the names of the providers whose metrics have not arrived as a whole
   */
  close(groups: readonly (readonly Provider[])[], deadlineMs: number): Promise<ReadonlySet<string>>;
}

/** Of the time to close in, for requests that were sent before. */
const UNDER_WAY_SHARE = 0.25;
/** Of what is left of the time, for each group but the last: what is exported first is what matters most. */
const GROUP_SHARE = 0.75;

export function createPipeline(options: PipelineOptions): Pipeline {
  const { settings, onExport, onDefect, onOverflow, random, turn } = options;
  const { schedule, streams } = settings;
  // A request is not to outlive the export that it is a part of.
  const timeoutMs = Math.min(settings.exporter.timeoutMs, schedule.timeoutMs);
  const exporter = createExporter({ ...settings.exporter, timeoutMs }, SIGNALS.metrics);
  const providers: Provider[] = [];
  const history = createExportHistory();
  const loop = createExportLoop({
    exporter: {
      async export(metrics) {
        await turn();
        return exporter.export(metrics);
      },
    },
    schedule,
    onExport({ name }, outcome) {
      const recovery = history.note(name, outcome, performance.now());
      onExport(name, { ...outcome, backend: exporter.backend, recovery });
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
      // What is under way gets a part of the time; whoever hangs is not to take all of it from the others.
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
