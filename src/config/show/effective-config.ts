/**
 * Writes the effective configuration as text: each value with its path in a configuration file and its origin. It shows the
 * values that the program uses, not what the user wrote, and hides secrets.
 */
import type { BrokerTls, BrokerUrl } from '../../broker/broker-url.ts';
import { kindOf } from '../../broker/kinds.ts';
import { METRIC_NAMES, optInAttributesOf, optInOf } from '../../meter/catalog.ts';
import type { View } from '../../otlp/collect/view.ts';
import type { ExporterSettings, OtlpSettings } from '../../otlp/otlp-settings.ts';
import type { SignalName } from '../../otlp/signal-paths.ts';
import { printable } from '../../text/printable.ts';
import type { Config, LogsConfig, ServiceConfig, StatusConfig, TracesConfig } from '../config.ts';
import { type FilePath, parsePath, showPath, snakeCase } from '../file/file-path.ts';
import { shownAddress } from '../format/listen-address.ts';
import { MASK, maskUrl } from '../format/redaction.ts';
import { SEVERITY_NAMES } from '../format/signal-formats.ts';
import { hasBroker, SERVICE_NAME } from '../option-rules.ts';
import {
  fileOf,
  type OptionKey,
  optionRows,
  SENTINEL_KWARGS,
  servicePath,
  serviceRows,
  signalRows,
} from '../options.ts';
import { DEFAULT, type Origins } from '../origins.ts';
import { type SetValue, settingsIn } from '../settings.ts';
import { samplerLeaves } from './sampler-lines.ts';

/** One line of the output; lines with an undefined value are omitted. */
type Line = readonly [path: FilePath, value: unknown];

export interface Shown {
  /** One line per value: `path: value  # origin`. */
  readonly text: string;
  /** How many values were left out because they are defaults. */
  readonly defaults: number;
}

const PROCESS_OPTIONS = optionRows('run').filter(([, { scope }]) => scope === 'process');

/** @param which `all`, or only what differs from the defaults */
export function effectiveConfig(config: Config, origins: Origins, which: 'all' | 'set'): Shown {
  const lines: readonly Line[] = [
    [['log_level'], config.logLevel],
    ...attributeLines(['resource', 'attributes'], config.self.attributes),
    ...zeroFirstLines(config.otlp),
    ...statusLines(config.status),
    ...settingLines(settingsIn({ ...config, ...config.otlp }, PROCESS_OPTIONS)),
    ...config.services.flatMap(serviceLines),
    ...otlpLines(config.otlp),
    [['meter_provider', 'exemplar_filter'], hasExemplars(config) ? config.exemplarFilter : undefined],
    ...(config.exceptions === undefined ? [] : linesOf(['celery', 'logs'], config.exceptions)),
    ...(config.traces === undefined ? [] : traceLines(config.traces, config.logs)),
    ...(config.logs === undefined ? [] : logLines(config.logs, config.traces)),
  ];
  const present = lines.filter(([, value]) => value !== undefined);
  const shown = present.filter(([path]) => which === 'all' || origins.of(path) !== DEFAULT);
  const text = shown.map(([path, value]) => `${showPath(path)}: ${textOf(value)}  # ${origins.of(path)}\n`);
  return { text: text.join(''), defaults: present.length - shown.length };
}

function zeroFirstLines({ streams }: Config['otlp']): readonly Line[] {
  const { zeroFirstMs } = streams;
  return [[['celery', 'zero_first'], zeroFirstMs === undefined ? 'off' : zeroFirstMs / 1000]];
}

function statusLines(status: StatusConfig | undefined): readonly Line[] {
  if (status === undefined) return [];
  const { address, token, tokenFile } = status;
  return [
    [['celery', 'status', 'address'], shownAddress(address)],
    [['celery', 'status', 'token'], token !== undefined && tokenFile === undefined ? MASK : undefined],
    [['celery', 'status', 'token_file'], tokenFile],
  ];
}

/** Whether there can be exemplars: by default there are none without traces. */
function hasExemplars({ exemplarFilter, traces }: Config): boolean {
  return traces !== undefined || exemplarFilter !== 'trace_based';
}

function serviceLines(service: ServiceConfig): readonly Line[] {
  const { broker, choice } = service;
  const at = (...path: FilePath): FilePath => ['celery', 'services', service.name, ...path];
  const rows = serviceRows().filter(
    ([, { transport }]) => transport === undefined || hasBroker(broker.urls, transport),
  );
  const { tls } = broker.redis.sentinel;
  return [
    ...broker.urls.flatMap((url, index) => urlLines(at('broker_url', index), url)),
    ...settingLines(settingsIn(service, rows), (key) => at(...servicePath(key))),
    ...(tls === undefined || !hasBroker(broker.urls, 'sentinel')
      ? []
      : sentinelLines(at(...SENTINEL_KWARGS.split('.')), tls)),
    [at('resource', SERVICE_NAME), service.name],
    ...attributeLines(at('resource'), service.attributes),
    ...METRIC_NAMES.flatMap((name): Line[] => {
      const attributes = optInAttributesOf(name);
      const enabled = attributes.filter((key) => choice.optIns.has(optInOf(name, key)));
      return [
        [at('metrics', name, 'enabled'), choice.metrics.has(name)],
        [at('metrics', name, 'attributes'), attributes.length === 0 ? undefined : enabled],
      ];
    }),
  ];
}

function settingLines(
  settings: readonly SetValue[],
  pathOf = (key: OptionKey): FilePath => parsePath(fileOf(key) ?? key),
): readonly Line[] {
  return settings.map(({ key, value, scale, format }) => {
    if (value === '') return [pathOf(key), format.orSwitch === true ? false : undefined];
    const shown = typeof value === 'number' ? value / scale : labelOf(value);
    return [pathOf(key), format.isSecret === true && value !== undefined ? MASK : shown];
  });
}

/** An address or a period is shown by its label, any other value as it is. */
function labelOf(value: unknown): unknown {
  return value instanceof Object && 'label' in value ? value.label : value;
}

/** Only the label of an address is safe to print, so its parameters have their own lines. */
function urlLines(at: FilePath, url: BrokerUrl): readonly Line[] {
  const { label, tls } = url;
  return [
    [at, label],
    ...Object.entries(kindOf(url).parameters(url)).flatMap(([name, value]) => linesOf([...at, name], value)),
    ...(tls === undefined ? [] : tlsLines([...at, 'ssl'], tls)),
  ];
}

/** @param prefix the prefix of the keys */
function tlsLines(at: FilePath, tls: BrokerTls, prefix = ''): readonly Line[] {
  return [
    [[...at, `${prefix}ca_certs`], tls.caFile],
    [[...at, `${prefix}certfile`], tls.certFile],
    [[...at, `${prefix}keyfile`], tls.keyFile],
    [[...at, `${prefix}cert_reqs`], tls.verify ? 'required' : 'none'],
    [[...at, `${prefix}check_hostname`], tls.checkHost],
  ];
}

function sentinelLines(at: FilePath, tls: BrokerTls): readonly Line[] {
  return [[[...at, 'ssl'], true], ...tlsLines(at, tls, 'ssl_')];
}

function attributeLines(at: FilePath, attributes: ServiceConfig['attributes']): readonly Line[] {
  return Object.entries(attributes).map(([key, value]) => [[...at, key], value] as const);
}

function otlpLines(otlp: OtlpSettings): readonly Line[] {
  const { exporter, streams, schedule } = otlp;
  const { temporality } = streams;
  const reader: FilePath = ['meter_provider', 'readers', 0, 'periodic'];
  const at = [...reader, 'exporter', keyOf(exporter)];
  return [
    [[...reader, 'max_export_batch_size/development'], schedule.pointsPerRequestMax],
    ...exportLines('metrics', otlp),
    [[...at, 'temporality_preference'], temporality === 'lowmemory' ? 'low_memory' : temporality],
    ...linesOf([...reader, 'cardinality_limits'], streams.limits),
    ...streams.views.flatMap((view, index) => viewLines(['meter_provider', 'views', index], view)),
  ];
}

const keyOf = ({ protocol }: ExporterSettings) => (protocol === 'grpc' ? 'otlp_grpc' : 'otlp_http');

/** The exporter of a signal, and its other options. */
function exportLines(signal: SignalName, holder: OtlpSettings | TracesConfig | LogsConfig): readonly Line[] {
  const { exporter } = holder;
  const { protocol } = exporter;
  const pathOf = (key: OptionKey): FilePath => parsePath(fileOf(key, keyOf(exporter), signal) ?? key);
  const at = [...pathOf('otlp_protocol'), keyOf(exporter)];
  return [
    [[...at, 'encoding'], protocol === 'grpc' ? undefined : protocol.slice('http/'.length)],
    [[...at, 'endpoint'], exporter.endpoint.replace(/\?.*$/s, `?${MASK}`)],
    [[...at, 'tls', 'insecure'], protocol === 'grpc' ? exporter.insecure : undefined],
    ...Object.keys(exporter.headers).map((header): Line => [[...at, 'headers', header], MASK]),
    ...settingLines(settingsIn(holder, signalRows(signal)), pathOf),
  ];
}

function traceLines(traces: TracesConfig, logs: LogsConfig | undefined): readonly Line[] {
  return [
    ...(logs === undefined ? linesOf(['celery', 'logs'], traces.exceptions) : []),
    ...exportLines('traces', traces),
    ...samplerLeaves(['tracer_provider', 'sampler'], traces.settings.sampler),
  ];
}

function logLines(logs: LogsConfig, traces: TracesConfig | undefined): readonly Line[] {
  const { minimumSeverity, traceBased } = logs.settings;
  const provider = 'logger_provider';
  const config: FilePath = [provider, 'logger_configurator/development', 'default_config'];
  const bridge: FilePath = [provider, 'processors', 1, 'event_to_span_event_bridge/development'];
  return [
    ...exportLines('logs', logs),
    [bridge, traces?.settings.exceptionEvents === true ? {} : undefined],
    [[...config, 'minimum_severity'], SEVERITY_NAMES[minimumSeverity - 1]],
    [[...config, 'trace_based'], traceBased],
  ];
}

function viewLines(at: FilePath, { selector, stream: { aggregation, ...others } }: View): readonly Line[] {
  const { kind, ...settings } = aggregation ?? {};
  return [
    ...linesOf([...at, 'selector'], selector),
    ...linesOf([...at, 'stream'], others),
    ...(kind === undefined ? [] : linesOf([...at, 'stream', 'aggregation', kind], settings)),
  ];
}

/** Keys whose standard name is not just their snake_case form. */
const NAMES: Readonly<Record<string, string>> = {
  instrumentKind: 'instrument_type',
  cardinalityLimit: 'aggregation_cardinality_limit',
  gauge: 'observable_gauge',
};

/** All leaves of a value, under the standard's names. */
function linesOf(at: FilePath, value: unknown): readonly Line[] {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = isMap ? Object.entries(value) : [];
  if (entries.length === 0) return [[at, value]];
  return entries.flatMap(([key, item]) => linesOf([...at, NAMES[key] ?? snakeCase(key)], item));
}

/** The value as YAML, on one line. */
function textOf(value: unknown): string {
  if (value instanceof RegExp) return textOf(value.source);
  if (typeof value === 'object' && !Array.isArray(value)) return '{}';
  if (Array.isArray(value)) return `[${value.map((each) => textOf(labelOf(each))).join(', ')}]`;
  if (typeof value !== 'string') return String(value);
  // The user may have set an address by mistake, so its password is hidden.
  if (/:\/\/[^/\s]*:(?!\*\*\*@)[^\s]*@/u.test(value)) return maskUrl(value);
  const isPlain = /^[a-z/](?:[\w./*@:+-]*[\w/*])?$/i.test(value) && !/^(?:true|false|null)$/i.test(value);
  return isPlain ? value : printable(JSON.stringify(value));
}
