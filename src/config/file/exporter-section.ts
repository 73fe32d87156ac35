/**
 * `meter_provider` of a configuration file → where metrics go, how often, and as which streams. What each key by itself
 * may be was checked before; what is wrong with them together is noted here.
 */
import type {
  ExporterSettings,
  ExportSchedule,
  OtlpSettings,
  StreamSettings,
} from '../../otlp/otlp-settings.ts';
import { headerFault } from '../format/key-value-list.ts';
import { defaultEndpoint, endpointFormat, type OtlpProtocol } from '../format/otlp-endpoint.ts';
import { defaultOf } from '../options.ts';
import type { FilePath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { STANDARD_FORMATS as F } from './standard-table.ts';
import { readViews } from './views.ts';

/** As the specification's default. */
export const CARDINALITY_LIMIT = 2000;

/** Takes note of where a value comes from that is not at its own place. */
export type NoteOrigin = (path: FilePath, source: string) => void;

type Maybe = FileValue | undefined;

/** With defaults in the place of what is not there, or is wrong and was noted. */
export function readMeterProvider(provider: Maybe, note: NoteOrigin): OtlpSettings {
  const reader = provider?.find(['readers', 0, 'periodic']);
  const exporter = reader?.get('exporter');
  const grpc = exporter?.get('otlp_grpc');
  const otlp = grpc ?? exporter?.get('otlp_http');
  const schedule = readSchedule(reader);
  // To the standard a variable that is not set is a value that is not given. But a header without its secret, or metrics
  // that go to localhost instead, is nothing that anybody wants.
  otlp?.expectVariables();
  return {
    exporter: readExporter(otlp, protocolOf(grpc, otlp), schedule, note),
    streams: {
      temporality: temporalityOf(otlp),
      histograms:
        otlp?.get('default_histogram_aggregation')?.peek(F.histogramAggregation) ??
        defaultOf('otlp_default_histogram_aggregation'),
      views: readViews(provider?.get('views')),
      limits: readLimits(reader?.get('cardinality_limits'), note),
    },
    schedule,
  };
}

function protocolOf(grpc: Maybe, otlp: Maybe): OtlpProtocol {
  if (grpc !== undefined) return 'grpc';
  return otlp?.get('encoding')?.peek(F.encoding) === 'json' ? 'http/json' : 'http/protobuf';
}

function readSchedule(reader: Maybe): ExportSchedule {
  const intervalMs = reader?.get('interval')?.peek(F.interval) ?? defaultOf('metric_export_interval');
  const timeout = reader?.get('timeout');
  const timeoutMs = timeout?.peek(F.timeout);
  if (timeoutMs !== undefined && timeoutMs > intervalMs) {
    timeout?.complain(`at most the interval (${intervalMs} ms); 0 stands for it`, String(timeoutMs));
  }
  return {
    intervalMs,
    // 0 is no limit, but an export is to be over when the next one is due; for the same reason the default gives way.
    timeoutMs:
      timeoutMs === 0 ? intervalMs : Math.min(timeoutMs ?? defaultOf('metric_export_timeout'), intervalMs),
    pointsPerRequestMax: reader?.get('max_export_batch_size/development')?.peek(F.pointsPerRequest),
  };
}

function readExporter(
  otlp: Maybe,
  protocol: OtlpProtocol,
  schedule: ExportSchedule,
  note: NoteOrigin,
): ExporterSettings {
  const tls = otlp?.get('tls');
  const [certificate, key] = [tls?.get('cert_file'), tls?.get('key_file')];
  const isGiven = (value: Maybe) => value !== undefined && !value.isNull;
  if (isGiven(certificate) && !isGiven(key)) tls?.complainOfMissing('key_file', F.clientKey.expects);
  if (isGiven(key) && !isGiven(certificate)) tls?.complainOfMissing('cert_file', F.clientCertificate.expects);
  const endpoint = readEndpoint(otlp?.get('endpoint'), protocol);
  const insecure = tls?.get('insecure')?.peek(F.insecure) ?? defaultOf('otlp_insecure');
  refuseUnusedTls(tls, /^http:/iu.test(endpoint) || (!endpoint.includes('://') && insecure));
  checkInsecure(tls?.get('insecure'), endpoint);
  return {
    protocol,
    endpoint,
    headers: readHeaders(otlp, note),
    certificateFile: tls?.get('ca_file')?.peek(F.certificate),
    clientCertificateFile: certificate?.peek(F.clientCertificate),
    clientKeyFile: key?.peek(F.clientKey),
    insecure,
    compression: otlp?.get('compression')?.peek(F.compression) ?? defaultOf('otlp_compression'),
    // 0 is no limit but that of the whole export.
    timeoutMs: (otlp?.get('timeout')?.peek(F.timeout) ?? defaultOf('otlp_timeout')) || schedule.timeoutMs,
  };
}

/** Files for TLS beside an endpoint without it: whoever wrote them believes that the connection is safe. */
function refuseUnusedTls(tls: Maybe, isPlain: boolean): void {
  if (!isPlain) return;
  for (const key of ['ca_file', 'cert_file', 'key_file']) {
    const file = tls?.get(key);
    if (file !== undefined && !file.isNull) file.complain('none: the endpoint is one without TLS');
  }
}

/** To the standard `insecure` is about an endpoint without a scheme; beside one it may say the same, and not the opposite. */
function checkInsecure(insecure: Maybe, endpoint: string): void {
  const said = insecure?.peek(F.insecure);
  const scheme = /^https?:/iu.exec(endpoint)?.[0].toLowerCase();
  if (said === undefined || scheme === undefined || said === (scheme === 'http:')) return;
  insecure?.complain(
    `nothing else than the endpoint says, which is one ${said ? 'with' : 'without'} TLS (${scheme})`,
  );
}

function readEndpoint(endpoint: Maybe, protocol: OtlpProtocol): string {
  const text = endpoint?.peek(F.endpoint);
  if (text === undefined) return defaultEndpoint(protocol);
  return endpoint?.read(endpointFormat(protocol)) ?? defaultEndpoint(protocol);
}

/** `headers`, and, less preferred, `headers_list`; one without a value is ignored, as the standard says. */
function readHeaders(otlp: Maybe, note: NoteOrigin): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  const add = (from: FileValue, key: string, value: string): void => {
    headers.set(key, value);
    if (otlp !== undefined) note([...otlp.path, 'headers', key], from.source);
  };
  const list = otlp?.get('headers_list');
  for (const [key, value] of list?.peek(F.headerList) ?? []) if (list !== undefined) add(list, key, value);
  const seen = new Set<string>();
  for (const entry of otlp?.get('headers')?.items() ?? []) {
    const key = entry.get('name')?.peek(F.headerName)?.toLowerCase();
    if (key !== undefined && seen.has(key)) entry.complain('each header once, whatever its case');
    if (key !== undefined) seen.add(key);
    const value = entry.get('value');
    const text = value?.peek(F.headerValue);
    if (key === undefined || value === undefined || text === undefined) continue;
    const fault = headerFault(key, text);
    if (fault === undefined) add(value, key, text);
    else entry.complain(`a header, but this one ${fault}`);
  }
  return Object.fromEntries(headers);
}

function temporalityOf(otlp: Maybe): StreamSettings['temporality'] {
  const temporality = otlp?.get('temporality_preference')?.peek(F.temporality);
  return temporality === 'low_memory'
    ? 'lowmemory'
    : (temporality ?? defaultOf('otlp_temporality_preference'));
}

/** Ours are counters, histograms and observable gauges; the other kinds of the standard are none of ours. */
function readLimits(limits: Maybe, note: NoteOrigin): StreamSettings['limits'] {
  const general = limits?.get('default');
  const limitOf = (kind: string): number => {
    const own = limits?.get(kind)?.peek(F.cardinalityLimit);
    const fallback = general?.peek(F.cardinalityLimit);
    if (limits !== undefined && general !== undefined && own === undefined && fallback !== undefined) {
      note([...limits.path, kind], general.source);
    }
    return own ?? fallback ?? CARDINALITY_LIMIT;
  };
  return {
    counter: limitOf('counter'),
    histogram: limitOf('histogram'),
    gauge: limitOf('observable_gauge'),
  };
}
