/**
 * Options → the configuration of a command, or everything that is wrong with them. It gives options the shapes and
 * units of the rooms; how they are found and checked is `read-options.ts`.
 */
import type { BrokerSettings } from '../broker/broker.ts';
import type { OtlpSettings } from '../otlp/otlp-settings.ts';
import type { Config, RecordConfig } from './config.ts';
import type { Pairs } from './key-value-list.ts';
import { chooseMetrics } from './metric-list.ts';
import type { Mistake } from './mistake.ts';
import { SERVICE_NAME } from './option-rules.ts';
import { type OptionSources, type Options, readOptions } from './read-options.ts';

export type { Mistake } from './mistake.ts';

/** A configuration, or every mistake that was made in it; all of it may be printed. */
export type LoadedConfig<C = Config> =
  | { readonly ok: true; readonly config: C }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/**
 * The configuration of `run`: flag, else environment, else default.
 * @param sources `argv` without the name of the command; `env` is only read.
 */
export function loadConfig(sources: OptionSources): LoadedConfig {
  const result = readOptions('run', sources);
  if (!result.ok) return result;
  const { options } = result;
  const attributes = new Map(options.value('resource_attributes'));
  const name = options.value('service_name') ?? attributes.get(SERVICE_NAME);
  if (name === undefined) throw new Error('a service without a name passed the rules');
  attributes.delete(SERVICE_NAME);
  return {
    ok: true,
    config: {
      service: {
        name,
        attributes: record(attributes),
        broker: brokerSettings(options),
        cluster: {
          tasksMax: options.need('tasks_max'),
          workersMax: options.need('workers_max'),
          workerTimeoutMs: milliseconds(options.need('worker_timeout')),
          seriesRetentionMs: milliseconds(options.need('series_retention')),
          windowMs: milliseconds(options.need('reordering_window')),
          heldMax: options.need('reordering_events_max'),
          skewPairsMax: options.need('skew_pairs_max'),
        },
        choice: {
          metrics: chooseMetrics({
            disabled: options.value('metrics_disabled') ?? [],
            enabled: options.value('metrics_enabled') ?? [],
          }),
          optIns: new Set(options.value('metric_attributes_enabled')),
        },
        otlp: otlpSettings(options),
      },
      logLevel: options.need('log_level'),
    },
  };
}

/** The configuration of `record`, which needs a broker and a file and knows no service and no OTLP. */
export function loadRecordConfig(sources: OptionSources): LoadedConfig<RecordConfig> {
  const result = readOptions('record', sources);
  if (!result.ok) return result;
  const { options } = result;
  return {
    ok: true,
    config: {
      broker: brokerSettings(options),
      file: options.need('out'),
      logLevel: options.need('log_level'),
    },
  };
}

function brokerSettings(options: Options): BrokerSettings {
  return {
    urls: options.need('broker_url'),
    failoverStrategy: options.need('broker_failover_strategy'),
    eventExchange: options.need('event_exchange'),
    eventQueuePrefix: options.need('event_queue_prefix'),
    connectTimeoutMs: milliseconds(options.need('broker_connection_timeout')),
    heartbeatS: options.need('broker_heartbeat'),
  };
}

function otlpSettings(options: Options): OtlpSettings {
  const exportIntervalMs = options.need('metric_export_interval');
  return {
    endpoint: options.need('otlp_endpoint'),
    headers: record(options.value('otlp_headers') ?? new Map()),
    certificateFile: options.value('otlp_certificate'),
    clientCertificateFile: options.value('otlp_client_certificate'),
    clientKeyFile: options.value('otlp_client_key'),
    insecure: options.need('otlp_insecure'),
    compression: options.need('otlp_compression'),
    timeoutMs: options.need('otlp_timeout'),
    temporality: options.need('otlp_temporality_preference'),
    exportIntervalMs,
    // The default is longer than a short interval, and the SDK accepts no timeout that is.
    exportTimeoutMs: Math.min(options.need('metric_export_timeout'), exportIntervalMs),
  };
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}

/** Defines its keys as own properties, whatever they are called. */
function record(pairs: Pairs): Readonly<Record<string, string>> {
  return Object.fromEntries(pairs);
}
