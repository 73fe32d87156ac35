/**
 * From instruments to one backend: a MeterProvider per resource, all exported together. It does not know what is measured,
 * nor for which resources.
 */
import type { Resource } from '@opentelemetry/resources';
import type { Overflow } from './collect/collected-metric.ts';
import type { ScopeStreamsOptions } from './collect/scope-streams.ts';
import type { OtlpSettings, StreamSettings } from './otlp-settings.ts';
import { createProvider, type Provider } from './provider.ts';
import { createSignalExport, type SignalExportOptions } from './signal-export.ts';
import { SIGNALS } from './signals.ts';

/** Options of one provider. */
export interface OpenOptions extends Pick<ScopeStreamsOptions, 'combination' | 'retentionMs'> {
  /** Raises the settings’ cardinality limits to at least this, but not those of views. */
  readonly pointsMin?: number;
}

export interface PipelineOptions extends SignalExportOptions {
  readonly settings: OtlpSettings;
  /** A metric of the provider with this name reached its cardinality limit. */
  readonly onOverflow?: (name: string, overflow: Overflow) => void;
}

export type Pipeline = ReturnType<typeof createPipeline>;

export function createPipeline({ settings, onOverflow, ...options }: PipelineOptions) {
  const { exporter, schedule, streams } = settings;
  const exported = createSignalExport(SIGNALS.metrics, exporter, schedule, options);
  const providers: Provider[] = [];
  return {
    ...exported,
    /**
     * A provider whose metrics are exported once the pipeline has started.
     * @param name for events and logs; it is not exported
     */
    open(name: string, resource: Resource, { pointsMin = 0, ...others }: OpenOptions): Provider {
      const provider = createProvider({
        name,
        resource,
        settings: { ...streams, limits: atLeast(pointsMin, streams.limits) },
        pointsPerRequestMax: schedule.pointsPerRequestMax,
        ...others,
        onFailure: (reason) => options.onDefect(name, reason),
        onOverflow: (overflow) => onOverflow?.(name, overflow),
        yieldToLoop: options.yieldToLoop,
      });
      providers.push(provider);
      return provider;
    },
    /** The first export is one interval from now. */
    start: (): void => exported.start(providers),
    /** As `close` of each signal. A restart loses nothing that was held back. */
    close(...args: Parameters<typeof exported.close>): ReturnType<typeof exported.close> {
      for (const provider of providers) provider.end();
      return exported.close(...args);
    },
  };
}

function atLeast(points: number, { counter, histogram, gauge }: StreamSettings['limits']) {
  const raised = (limit: number): number => Math.max(limit, points);
  return { counter: raised(counter), histogram: raised(histogram), gauge: raised(gauge) };
}
