/** The table of the default HTTP paths of OTLP, by signal (OTLP specification, "OTLP/HTTP Request"). */
export const SIGNAL_PATHS = { metrics: '/v1/metrics', traces: '/v1/traces', logs: '/v1/logs' } as const;

export type SignalName = keyof typeof SIGNAL_PATHS;

export const SIGNAL_NAMES = ['metrics', 'traces', 'logs'] as const satisfies readonly SignalName[];
