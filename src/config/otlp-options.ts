/** The export options, and the settings that only a configuration file can have → the settings of `otlp/`. */
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import { CARDINALITY_LIMIT, type MeterProvider } from './file/exporter-section.ts';
import { endpointOf } from './option-rules.ts';
import type { Options } from './read-options.ts';

/** @param meter undefined without a file */
export function otlpSettings(options: Options, meter?: MeterProvider): OtlpSettings {
  const intervalMs = options.need('metric_export_interval');
  const protocol = options.need('otlp_protocol');
  const endpoint = endpointOf(options);
  if (endpoint?.ok !== true) throw new Error('an invalid endpoint passed the rules');
  const limits = { counter: CARDINALITY_LIMIT, histogram: CARDINALITY_LIMIT, gauge: CARDINALITY_LIMIT };
  return {
    exporter: {
      protocol,
      endpoint: endpoint.value,
      // fromEntries defines own properties, even for a key like __proto__.
      headers: Object.fromEntries(meter?.headers ?? options.value('otlp_headers') ?? []),
      certificateFile: options.value('otlp_certificate'),
      clientCertificateFile: options.value('otlp_client_certificate'),
      clientKeyFile: options.value('otlp_client_key'),
      insecure: options.need('otlp_insecure'),
      compression: options.need('otlp_compression'),
      timeoutMs: options.need('otlp_timeout'),
    },
    streams: {
      temporality: options.need('otlp_temporality_preference'),
      histograms: options.need('otlp_default_histogram_aggregation'),
      views: meter?.views ?? [],
      limits: meter?.limits ?? limits,
    },
    schedule: {
      intervalMs,
      // The default may exceed a short interval, but an export must end before the next one.
      timeoutMs: Math.min(options.need('metric_export_timeout'), intervalMs),
      pointsPerRequestMax: meter?.pointsPerRequestMax,
    },
  };
}
