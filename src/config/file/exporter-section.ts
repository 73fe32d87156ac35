/**
 * `meter_provider` of a configuration file → the export options, and the settings that only a file can have: views, limits,
 * headers one by one. Both, or options alone → the settings of `otlp/`. Contradictions between keys are reported here,
 * unless a rule between options covers them.
 */
import type { OtlpSettings, StreamSettings } from '../../otlp/otlp-settings.ts';
import { format, oneOf, secret, trueOrFalse, wholeNumber } from '../format/formats.ts';
import { headerFault, headerList, type Pairs } from '../format/key-value-list.ts';
import { defaultEndpoint } from '../format/otlp-endpoint.ts';
import type { Mistake } from '../mistake.ts';
import { endpointOf, type Given, type Options } from '../option-rules.ts';
import { DAY_MS, defaultOf, EXPORT_ROWS, fileOf, OPTIONS, type OptionKey } from '../options.ts';
import type { Origins } from '../origins.ts';
import { type FilePath, parsePath, showPath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { list, map, placed, type Read, refused, required, scalar } from './shape.ts';
import { cardinalityLimit, VIEWS } from './views.ts';

/** The default of the specification. */
const CARDINALITY_LIMIT = 2000;

const LIMITS: FilePath = ['meter_provider', 'readers', 0, 'periodic', 'cardinality_limits'];

export const pointsPerRequest = wholeNumber(1, 1_000_000);

/** 0 is no limit. */
const timeout = wholeNumber(0, DAY_MS, 'milliseconds');

const option = (key: OptionKey) => scalar<unknown>(OPTIONS[key].format);

const TLS_FILES = {
  ca_file: option('otlp_certificate'),
  cert_file: option('otlp_client_certificate'),
  key_file: option('otlp_client_key'),
};

/** The keys of both exporters. */
const OTLP = {
  endpoint: option('otlp_endpoint'),
  // The name is a secret too, because a user may have swapped name and value.
  headers: list(placed(map({ name: required(scalar(secret), secret.expects), value: scalar(secret) }))),
  headers_list: scalar(headerList),
  compression: option('otlp_compression'),
  timeout: scalar(timeout),
  temporality_preference: scalar(oneOf(['cumulative', 'delta', 'low_memory'])),
  default_histogram_aggregation: option('otlp_default_histogram_aggregation'),
};

const ONE_WAY = 'metrics are only exported over OTLP, by otlp_grpc or otlp_http';
const NO_UP_AND_DOWN = 'no instrument is an up-down counter; use counter';

const GRPC = map({ ...OTLP, tls: map({ ...TLS_FILES, insecure: scalar(trueOrFalse) }) });

const PERIODIC = map({
  interval: scalar(OPTIONS.metric_export_interval.format),
  timeout: scalar(timeout),
  'max_export_batch_size/development': scalar(pointsPerRequest),
  producers: refused('only the metrics of celery-otel are exported'),
  cardinality_limits: map({
    default: scalar(cardinalityLimit),
    counter: scalar(cardinalityLimit),
    histogram: scalar(cardinalityLimit),
    observable_gauge: scalar(cardinalityLimit),
    gauge: refused('all gauges are asynchronous; use observable_gauge'),
    observable_counter: refused('all counters are synchronous; use counter'),
    observable_up_down_counter: refused(NO_UP_AND_DOWN),
    up_down_counter: refused(NO_UP_AND_DOWN),
  }),
  exporter: required(
    map(
      {
        console: refused(ONE_WAY),
        'otlp_file/development': refused(ONE_WAY),
        otlp_grpc: GRPC,
        otlp_http: map({ ...OTLP, tls: map(TLS_FILES), encoding: scalar(oneOf(['protobuf', 'json'])) }),
      },
      { one: true },
    ),
    'otlp_grpc or otlp_http, with its settings',
  ),
});

export const METER_PROVIDER = map({
  readers: required(
    list(
      map({ periodic: PERIODIC, pull: refused(`there is nothing to scrape; ${ONE_WAY}`) }, { one: true }),
      'maps',
      'only one reader, because all services are exported to one backend',
    ),
    'a list of one periodic reader',
  ),
  exemplar_filter: scalar(
    format('always_off, because there are no exemplars', (text) =>
      text === 'always_off' ? { ok: true, value: text } : undefined,
    ),
  ),
  'meter_configurator/development': refused('enable and disable metrics in celery.metrics'),
  views: VIEWS,
});

type Reader = Read<typeof PERIODIC>;

/** @param root the whole file @param meter what was read of it */
export function readMeterProvider(
  root: FileValue,
  meter: Read<typeof METER_PROVIDER> | undefined,
  origins: Origins,
) {
  const reader = meter?.readers?.[0]?.periodic;
  const { otlp_grpc: grpc, otlp_http: http } = reader?.exporter ?? {};
  const exporter = http !== undefined && grpc === undefined ? 'otlp_http' : 'otlp_grpc';
  const protocol = exporter === 'otlp_grpc' ? 'grpc' : (`http/${http?.encoding ?? 'protobuf'}` as const);
  const pathOf = (key: OptionKey) => parsePath(fileOf(key, exporter) ?? key);
  const otlp = root.find([...pathOf('otlp_protocol'), exporter]);
  // By the standard, an unset variable means a missing value. But nobody wants a header without its secret, or metrics sent
  // to localhost instead.
  otlp?.expectVariables();
  const given = new Map<OptionKey, Given>();
  for (const [key] of EXPORT_ROWS) {
    const place = root.find(pathOf(key));
    const text = key === 'otlp_protocol' ? protocol : textOf(key, place, reader);
    if (place === undefined || text === undefined || !OPTIONS[key].format.read(text).ok) continue;
    given.set(key, { path: showPath(place.path), source: place.source, text });
  }
  checkTls(
    otlp?.get('tls'),
    grpc?.tls?.insecure,
    given.get('otlp_endpoint')?.text ?? defaultEndpoint(protocol),
  );
  for (const kind of ['counter', 'histogram', 'observable_gauge']) {
    const limits = [kind, 'default'].map((key) => root.find([...LIMITS, key]));
    origins.note([...LIMITS, kind], limits.find((limit) => limit?.isNull === false)?.source);
  }
  return {
    /** Its key in the file. */
    exporter,
    given,
    /** Where a missing option belongs. */
    place: (key: OptionKey): Pick<Mistake, 'path' | 'source'> =>
      OPTIONS[key].scope === 'export'
        ? { path: showPath(pathOf(key)), source: root.nearest(pathOf(key)).source }
        : { path: key },
    headers: readHeaders(otlp, grpc ?? http, origins),
    views: meter?.views ?? [],
    limits: limitsOf(reader?.cardinality_limits),
    pointsPerRequestMax: reader?.['max_export_batch_size/development'],
  };
}

/** The file's value of an option, as text of that option. */
function textOf(key: OptionKey, place: FileValue | undefined, reader: Reader = {}): string | undefined {
  const text = place?.plain(OPTIONS[key].format);
  if (text === 'low_memory') return 'lowmemory';
  if (text !== '0') return text;
  // 0 means no limit, but an export must end before the next one.
  const { interval = defaultOf('metric_export_interval'), timeout = defaultOf('metric_export_timeout') } =
    reader;
  if (key === 'metric_export_timeout') return String(interval);
  return key === 'otlp_timeout' ? String(Math.min(timeout || interval, interval)) : text;
}

function checkTls(tls: FileValue | undefined, insecure: boolean | undefined, endpoint: string): void {
  const scheme = /^https?:/iu.exec(endpoint)?.[0].toLowerCase();
  // By the standard `insecure` applies to endpoints without a scheme; with one it must not contradict the scheme.
  if (insecure !== undefined && scheme !== undefined && insecure !== (scheme === 'http:')) {
    tls?.get('insecure')?.complain(`${!insecure}, because the endpoint is ${scheme}`);
  }
  if (scheme !== 'http:' && (endpoint.includes('://') || insecure !== true)) return;
  // A user who sets TLS files believes that the connection is secure.
  for (const key of Object.keys(TLS_FILES)) {
    const file = tls?.get(key);
    if (file?.isNull === false) file.complain('no file, because the endpoint does not use TLS');
  }
}

/** `headers` take precedence over `headers_list`; headers without a value are ignored, as in the standard. */
function readHeaders(
  otlp: FileValue | undefined,
  settings: Pick<Read<typeof GRPC>, 'headers' | 'headers_list'> | undefined,
  origins: Origins,
): Pairs {
  const headers = new Map<string, string>();
  const add = (from: FileValue | undefined, key: string, value: string): void => {
    headers.set(key, value);
    if (otlp !== undefined) origins.note([...otlp.path, 'headers', key], from?.source);
  };
  for (const [key, value] of settings?.headers_list ?? []) add(otlp?.get('headers_list'), key, value);
  const seen = new Set<string>();
  for (const { place, value: header } of settings?.headers ?? []) {
    const { name, value } = header;
    const key = name?.toLowerCase();
    if (key === undefined) continue;
    if (seen.has(key)) place.complain('each header only once (case is ignored)');
    seen.add(key);
    if (value === undefined) continue;
    const fault = headerFault(key, value);
    if (fault === undefined) add(place.get('value'), key, value);
    else place.complain(`a valid header; this one ${fault}`);
  }
  return headers;
}

/** Only for the instruments that exist here: counters, histograms and observable gauges. */
function limitsOf(given: Reader['cardinality_limits'] = {}): StreamSettings['limits'] {
  const { default: limit = CARDINALITY_LIMIT } = given;
  const { counter = limit, histogram = limit, observable_gauge: gauge = limit } = given;
  return { counter, histogram, gauge };
}

/** The settings of `otlp/`. @param meter undefined without a file */
export function otlpSettings(options: Options, meter?: ReturnType<typeof readMeterProvider>): OtlpSettings {
  const intervalMs = options.need('metric_export_interval');
  const protocol = options.need('otlp_protocol');
  const endpoint = endpointOf(options);
  if (endpoint?.ok !== true) throw new Error('an invalid endpoint passed the rules');
  return {
    exporter: {
      protocol,
      endpoint: endpoint.value,
      // fromEntries defines own properties, even for a key like __proto__.
      headers: Object.fromEntries(meter?.headers ?? options.value('otlp_headers') ?? []),
      certificateFile: options.value('otlp_certificate'),
      clientCertificateFile: options.value('otlp_client_certificate'),
      clientKeyFile: options.value('otlp_client_key'),
      insecure: options.need('otlp_insecure'),
      compression: options.need('otlp_compression'),
      timeoutMs: options.need('otlp_timeout'),
    },
    streams: {
      temporality: options.need('otlp_temporality_preference'),
      histograms: options.need('otlp_default_histogram_aggregation'),
      views: meter?.views ?? [],
      limits: meter?.limits ?? limitsOf(),
    },
    schedule: {
      intervalMs,
      // The default may exceed a short interval, but an export must end before the next one.
      timeoutMs: Math.min(options.need('metric_export_timeout'), intervalMs),
      pointsPerRequestMax: meter?.pointsPerRequestMax,
    },
  };
}
