/** Export settings for tests: fast, to a receiver on this machine. */
import type {
  ExporterSettings,
  ExportSchedule,
  OtlpSettings,
  StreamSettings,
} from '../../src/otlp/otlp-settings.ts';

export interface SettingsOverrides {
  readonly exporter?: Partial<ExporterSettings>;
  readonly streams?: Partial<StreamSettings>;
  readonly schedule?: Partial<ExportSchedule>;
}

export function otlpSettings(endpoint: string, overrides: SettingsOverrides = {}): OtlpSettings {
  return {
    exporter: {
      protocol: 'grpc',
      endpoint,
      headers: {},
      certificateFile: undefined,
      clientCertificateFile: undefined,
      clientKeyFile: undefined,
      insecure: false,
      compression: 'none',
      timeoutMs: 5000,
      ...overrides.exporter,
    },
    streams: {
      temporality: 'cumulative',
      histograms: 'explicit_bucket_histogram',
      views: [],
      limits: { counter: 2000, histogram: 2000, gauge: 2000 },
      ...overrides.streams,
    },
    schedule: { intervalMs: 60_000, timeoutMs: 5000, pointsPerRequestMax: undefined, ...overrides.schedule },
  };
}
