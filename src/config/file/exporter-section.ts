/**
 * `meter_provider` of a configuration file → the export options, and the settings that only a file can have: views, limits,
 * headers one by one. Each key was validated before; contradictions between keys are reported here, unless a rule between
 * options covers them.
 */
import type { ExportSchedule, StreamSettings } from '../../otlp/otlp-settings.ts';
import { trueOrFalse } from '../format/formats.ts';
import { headerFault, headerList, type Pairs } from '../format/key-value-list.ts';
import { defaultEndpoint } from '../format/otlp-endpoint.ts';
import type { Mistake } from '../mistake.ts';
import { defaultOf, fileOf, OPTIONS, type OptionKey } from '../options.ts';
import type { Origins } from '../origins.ts';
import type { Given, GivenTexts } from '../read-options.ts';
import { EXPORT_ROWS } from '../setting.ts';
import { parsePath, showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { STANDARD_FORMATS as F } from './standard-table.ts';
import { readViews } from './views.ts';

/** The default of the specification. */
export const CARDINALITY_LIMIT = 2000;

export interface MeterProvider
  extends Pick<StreamSettings, 'views' | 'limits'>,
    Pick<ExportSchedule, 'pointsPerRequestMax'> {
  /** Its key in the file. */
  readonly exporter: 'otlp_grpc' | 'otlp_http';
  readonly given: GivenTexts;
  readonly headers: Pairs;
  /** Where a missing option belongs. */
  readonly place: (key: OptionKey) => Pick<Mistake, 'path' | 'source'>;
}

type Maybe = FileValue | undefined;

/** @param root the whole file */
export function readMeterProvider(root: FileValue, origins: Origins): MeterProvider {
  const reader = root.find(['meter_provider', 'readers', 0, 'periodic']);
  const both = reader?.get('exporter');
  const exporter = both?.get('otlp_grpc') === undefined && both?.get('otlp_http') ? 'otlp_http' : 'otlp_grpc';
  const otlp = both?.get(exporter);
  // By the standard, an unset variable means a missing value. But nobody wants a header without its secret, or metrics sent
  // to localhost instead.
  otlp?.expectVariables();
  const pathOf = (key: OptionKey) => parsePath(fileOf(key) ?? key, { EXPORTER: exporter });
  const given = new Map<OptionKey, Given>();
  for (const [key] of EXPORT_ROWS) {
    const place = root.find(pathOf(key));
    const text = key === 'otlp_protocol' ? protocolOf(exporter, otlp) : textOf(key, place, reader);
    if (place === undefined || text === undefined || !OPTIONS[key].format.read(text).ok) continue;
    given.set(key, { path: showPath(place.path), source: place.source, text });
  }
  checkTls(
    otlp?.get('tls'),
    given.get('otlp_endpoint')?.text ?? defaultEndpoint(exporter === 'otlp_grpc' ? 'grpc' : 'http/json'),
  );
  return {
    exporter,
    given,
    place: (key) =>
      OPTIONS[key].scope === 'export'
        ? { path: showPath(pathOf(key)), source: root.nearest(pathOf(key)).source }
        : { path: key, source: undefined },
    headers: readHeaders(otlp, origins),
    views: readViews(root.find(['meter_provider', 'views'])),
    limits: readLimits(reader?.get('cardinality_limits'), origins),
    pointsPerRequestMax: reader?.get('max_export_batch_size/development')?.peek(F.pointsPerRequest),
  };
}

function protocolOf(exporter: MeterProvider['exporter'], otlp: Maybe): string {
  if (exporter === 'otlp_grpc') return 'grpc';
  return otlp?.get('encoding')?.peek(F.encoding) === 'json' ? 'http/json' : 'http/protobuf';
}

/** The file's value of an option, as text of that option. */
function textOf(key: OptionKey, place: Maybe, reader: Maybe): string | undefined {
  const text = place?.plain(OPTIONS[key].format);
  if (text === 'low_memory') return 'lowmemory';
  if (text !== '0') return text;
  // 0 means no limit, but an export must end before the next one.
  const intervalMs = reader?.get('interval')?.peek(F.interval) ?? defaultOf('metric_export_interval');
  const timeoutMs = reader?.get('timeout')?.peek(F.timeout) ?? defaultOf('metric_export_timeout');
  if (key === 'metric_export_timeout') return String(intervalMs);
  return key === 'otlp_timeout' ? String(Math.min(timeoutMs || intervalMs, intervalMs)) : text;
}

function checkTls(tls: Maybe, endpoint: string): void {
  const insecure = tls?.get('insecure');
  const said = insecure?.peek(trueOrFalse);
  const scheme = /^https?:/iu.exec(endpoint)?.[0].toLowerCase();
  // By the standard `insecure` applies to endpoints without a scheme; with one it must not contradict the scheme.
  if (said !== undefined && scheme !== undefined && said !== (scheme === 'http:')) {
    insecure?.complain(`${!said}, because the endpoint is ${scheme}`);
  }
  if (scheme !== 'http:' && (endpoint.includes('://') || said !== true)) return;
  // A user who sets TLS files believes that the connection is secure.
  for (const key of ['ca_file', 'cert_file', 'key_file']) {
    const file = tls?.get(key);
    if (file !== undefined && !file.isNull) file.complain('no file, because the endpoint does not use TLS');
  }
}

/** `headers` take precedence over `headers_list`; headers without a value are ignored, as in the standard. */
function readHeaders(otlp: Maybe, origins: Origins): Pairs {
  const headers = new Map<string, string>();
  const add = (from: FileValue, key: string, value: string): void => {
    headers.set(key, value);
    if (otlp !== undefined) origins.note([...otlp.path, 'headers', key], from.source);
  };
  const list = otlp?.get('headers_list');
  for (const [key, value] of list?.peek(headerList) ?? []) if (list !== undefined) add(list, key, value);
  const seen = new Set<string>();
  for (const entry of otlp?.get('headers')?.items() ?? []) {
    const key = entry.get('name')?.peek(F.headerName)?.toLowerCase();
    if (key !== undefined && seen.has(key)) entry.complain('each header only once (case is ignored)');
    if (key !== undefined) seen.add(key);
    const value = entry.get('value');
    const text = value?.peek(F.headerValue);
    if (key === undefined || value === undefined || text === undefined) continue;
    const fault = headerFault(key, text);
    if (fault === undefined) add(value, key, text);
    else entry.complain(`a valid header; this one ${fault}`);
  }
  return headers;
}

/** Only for the instruments that exist here: counters, histograms and observable gauges. */
function readLimits(limits: Maybe, origins: Origins): StreamSettings['limits'] {
  const general = limits?.get('default');
  const limitOf = (kind: string): number => {
    const own = limits?.get(kind)?.peek(F.cardinalityLimit);
    const fallback = general?.peek(F.cardinalityLimit);
    if (limits !== undefined && general !== undefined && own === undefined && fallback !== undefined) {
      origins.note([...limits.path, kind], general.source);
    }
    return own ?? fallback ?? CARDINALITY_LIMIT;
  };
  return {
    counter: limitOf('counter'),
    histogram: limitOf('histogram'),
    gauge: limitOf('observable_gauge'),
  };
}
