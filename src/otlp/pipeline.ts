/**
 * Exports metrics to one backend: it has a MeterProvider per resource, and exports them all together. It does not know what is
 * measured, or for which resources.
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
  /** Raises lower cardinality limits of the settings to this number of series. Limits of views are not raised. */
  readonly limitAtLeast?: number;
}

export interface PipelineOptions extends SignalExportOptions {
  readonly settings: OtlpSettings;
  /** Called if a metric of the provider with this name has reached its cardinality limit. */
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
     * Creates a provider whose metrics are exported once the pipeline has started.
     * @param name for events and logs; not exported
     */
    open(name: string, resource: Resource, { limitAtLeast = 0, ...others }: OpenOptions): Provider {
      const provider = createProvider({
        name,
        resource,
        settings: { ...streams, limits: raisedLimits(limitAtLeast, streams.limits) },
        pointsPerRequestMax: schedule.pointsPerRequestMax,
        ...others,
        onFailure: (reason) => options.onDefect(name, reason),
        onOverflow: (overflow) => onOverflow?.(name, overflow),
        yieldToLoop: options.yieldToLoop,
      });
      providers.push(provider);
      return provider;
    },
    /** Starts the exports. The first one is after one interval. */
    start: (): void => exported.start(providers),
    /** Ends the providers first, so that the last collection includes values that were held back; then closes. */
    close(...args: Parameters<typeof exported.close>): ReturnType<typeof exported.close> {
      for (const provider of providers) provider.end();
      return exported.close(...args);
    },
  };
}

function raisedLimits(series: number, { counter, histogram, gauge }: StreamSettings['limits']) {
  const raised = (limit: number): number => Math.max(limit, series);
  return { counter: raised(counter), histogram: raised(histogram), gauge: raised(gauge) };
}
