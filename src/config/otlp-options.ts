/** The export options, and the settings that only a configuration file can have → the settings of `otlp/`. */
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import { CARDINALITY_LIMIT, type MeterProvider } from './file/exporter-section.ts';
import { parsePath } from './file/file-path.ts';
import { endpointOf } from './option-rules.ts';
import { fileOf } from './options.ts';
import type { Origins } from './origins.ts';
import type { Options } from './read-options.ts';
import { EXPORT_ROWS } from './setting.ts';

/** @param meter undefined without a file */
export function otlpSettings(options: Options, origins: Origins, meter?: MeterProvider): OtlpSettings {
  const intervalMs = options.need('metric_export_interval');
  const protocol = options.need('otlp_protocol');
  const endpoint = endpointOf(options);
  if (endpoint?.ok !== true) throw new Error('an invalid endpoint passed the rules');
  if (meter === undefined) noteOrigins(options, protocol === 'grpc' ? 'otlp_grpc' : 'otlp_http', origins);
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

function noteOrigins(options: Options, exporter: string, origins: Origins): void {
  for (const [key] of EXPORT_ROWS) {
    const path = parsePath(fileOf(key) ?? key, { EXPORTER: exporter });
    // In a file the protocol is the key of the exporter; only the encoding over HTTP is a value.
    origins.note(key === 'otlp_protocol' ? [...path, exporter, 'encoding'] : path, options.source(key));
  }
}
