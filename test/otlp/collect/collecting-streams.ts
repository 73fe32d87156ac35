/** The streams of all instruments, collected on demand, as the SDK would receive them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ScopeMetrics } from '@opentelemetry/sdk-metrics';
import {
  createInstrumentStreams,
  type InstrumentStreams,
} from '../../../src/otlp/collect/instrument-streams.ts';
import type { CollectedScope, ScopeStreamsOptions } from '../../../src/otlp/collect/scope-streams.ts';
import type { StreamMeter } from '../../../src/otlp/collect/stream-meter.ts';
import type { StreamSettings } from '../../../src/otlp/otlp-settings.ts';
import { otlpSettings } from '../settings.ts';
import { wholeScopes } from './reading.ts';

export interface CollectingOptions extends Partial<Omit<ScopeStreamsOptions, 'settings'>> {
  readonly settings?: Partial<StreamSettings>;
}

export interface CollectingStreams extends Pick<InstrumentStreams, 'retire' | 'tally'> {
  meter(name: string, version?: string, schemaUrl?: string): StreamMeter;
  /** Collects for an export that fails. */
  attempt(): Promise<readonly ScopeMetrics[]>;
  /** Collects and exports. */
  read(): Promise<readonly ScopeMetrics[]>;
  /** Of observable callbacks. */
  readonly failures: readonly unknown[];
}

export function collectingStreams(options: CollectingOptions = {}): CollectingStreams {
  const { settings = {}, ...others } = options;
  const failures: unknown[] = [];
  const streams = createInstrumentStreams({
    settings: otlpSettings('', { streams: settings }).streams,
    combination: () => 'max',
    nowMs: () => Date.now(),
    onFailure: (reason) => failures.push(reason),
    yieldToLoop: nextTurn,
    ...others,
  });
  return {
    meter: (name, version, schemaUrl) =>
      streams.getMeter(name, version, schemaUrl === undefined ? {} : { schemaUrl }),
    retire: streams.retire,
    tally: streams.tally,
    failures,
    attempt: async () => wholeScopes(await streams.collect()),
    async read() {
      const scopes = await streams.collect();
      const read = wholeScopes(scopes);
      settle(scopes);
      return read;
    },
  };
}

function settle(scopes: readonly CollectedScope[]): void {
  for (const { metrics } of scopes) for (const metric of metrics) metric.acknowledge(0, metric.pointCount);
}

/** The fields that an exporter reads; the SDK's descriptors have more. */
export function asExported(scopes: readonly ScopeMetrics[]) {
  return scopes.flatMap(({ scope, metrics }) =>
    metrics.map(({ descriptor: { name, description, unit, valueType }, ...metric }) => ({
      scope: [scope.name, scope.version, scope.schemaUrl],
      descriptor: { name, description, unit, valueType },
      ...metric,
    })),
  );
}
