/**
 * The MeterProvider of one resource: it provides meters, and makes export requests from their metrics. It does not know what is
 * measured, and sends nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Resource } from '@opentelemetry/resources';
import { createInstrumentStreams, type InstrumentStreamsOptions } from './collect/instrument-streams.ts';
import type { ScopeStreamsOptions } from './collect/scope-streams.ts';
import { metricRequests } from './metric-requests.ts';

/** Both a MeterProvider and an export source. */
export type Provider = ReturnType<typeof createProvider>;

/** By default, gauges are combined by their maximum, and long work yields to the event loop. */
export interface ProviderOptions
  extends Partial<Omit<ScopeStreamsOptions, 'settings'>>,
    Pick<InstrumentStreamsOptions, 'settings' | 'onFailure'> {
  /** The name in events and logs. */
  readonly name: string;
  readonly resource: Resource;
  readonly pointsPerRequestMax?: number | undefined;
}

export function createProvider(options: ProviderOptions) {
  const { name, resource, pointsPerRequestMax, yieldToLoop = nextTurn } = options;
  const streams = createInstrumentStreams({
    combination: () => 'max',
    nowMs: () => Date.now(),
    ...options,
    yieldToLoop,
  });
  return {
    ...streams,
    name,
    async collect() {
      await yieldToLoop();
      return metricRequests(resource, await streams.collect(), pointsPerRequestMax);
    },
  };
}
