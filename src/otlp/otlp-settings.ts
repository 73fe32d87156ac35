/** What the export needs to know, already validated. Types only. */

export interface OtlpSettings {
  /** Where to, e.g. `http://localhost:4317`; `https:` means TLS. */
  readonly endpoint: string;
  /** Sent with every request; values are secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Path of a PEM file with the authorities to trust; undefined: those of the system. */
  readonly certificateFile: string | undefined;
  readonly clientCertificateFile: string | undefined;
  readonly clientKeyFile: string | undefined;
  /** No TLS where the endpoint has no scheme. */
  readonly insecure: boolean;
  readonly compression: 'gzip' | 'none';
  /** Of one request, ms. */
  readonly timeoutMs: number;
  readonly temporality: 'cumulative' | 'delta' | 'lowmemory';
  readonly exportIntervalMs: number;
  readonly exportTimeoutMs: number;
}
