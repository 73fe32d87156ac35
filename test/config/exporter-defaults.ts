/** What an exporter has if nothing else is set, but for its protocol and its address. */
export const EXPORTER_DEFAULTS = {
  headers: {},
  certificateFile: undefined,
  clientCertificateFile: undefined,
  clientKeyFile: undefined,
  insecure: false,
  compression: 'none',
  timeoutMs: 10_000,
} as const;
