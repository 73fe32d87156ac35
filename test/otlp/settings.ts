/** Export settings for tests: fast, to a receiver on this machine. */
import type { OtlpSettings } from '../../src/otlp/otlp-settings.ts';

export function otlpSettings(endpoint: string, overrides: Partial<OtlpSettings> = {}): OtlpSettings {
  return {
    endpoint,
    headers: {},
    certificateFile: undefined,
    clientCertificateFile: undefined,
    clientKeyFile: undefined,
    insecure: false,
    compression: 'none',
    timeoutMs: 5000,
    temporality: 'cumulative',
    exportIntervalMs: 60_000,
    exportTimeoutMs: 5000,
    ...overrides,
  };
}
