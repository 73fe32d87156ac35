/** The table of the default HTTP paths of OTLP, by signal (OTLP specification, "OTLP/HTTP Request"). */
export const SIGNAL_PATHS = { metrics: '/v1/metrics' } as const;
