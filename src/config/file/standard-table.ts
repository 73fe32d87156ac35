/**
 * The keys of the OpenTelemetry configuration schema: each is supported, with its format, or refused, with a reason. A key
 * without a row is a mistake. The section `celery` is not in this table.
 */
import {
  type Format,
  finiteNumber,
  format,
  line,
  oneOf,
  trueOrFalse,
  wholeNumber,
} from '../format/formats.ts';
import { attributeList, headerList } from '../format/key-value-list.ts';
import { otlpAddress } from '../format/otlp-endpoint.ts';
import { MASK, quote } from '../format/redaction.ts';
import { OPTIONS } from '../options.ts';

export type Verdict =
  /** A string, number or boolean; without a value it counts as missing. */
  | { readonly kind: 'scalar'; readonly format: Format<unknown>; readonly required?: string }
  /** `one`: it must have exactly one key. */
  | { readonly kind: 'map'; readonly one?: true; readonly required?: string }
  /** `only`: it must have one item; why. */
  | { readonly kind: 'list'; readonly only?: string; readonly required?: string }
  /** Checked elsewhere. */
  | { readonly kind: 'any'; readonly required?: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** The finer severities of the logs data model are refused: no log line has one. */
const SEVERITIES = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

const DAY_MS = 86_400_000;
const SERIES_MAX = 1_000_000;
const BUCKETS_MAX = 16_384;

const hidden = format('a string', (text) => ({ ok: true, value: text }), { show: () => quote(MASK) });

const ATTRIBUTE_TYPES = ['string', 'bool', 'int', 'double'] as const;
export type AttributeType = (typeof ATTRIBUTE_TYPES)[number] | `${(typeof ATTRIBUTE_TYPES)[number]}_array`;

/** The formats that other files need too. */
export const STANDARD_FORMATS = {
  logLevel: oneOf(SEVERITIES),
  attributeName: line(255),
  attributeType: oneOf<AttributeType>([
    ...ATTRIBUTE_TYPES,
    ...ATTRIBUTE_TYPES.map((type) => `${type}_array` as const),
  ]),
  interval: OPTIONS.metric_export_interval.format,
  /** 0 is no limit. */
  timeout: wholeNumber(0, DAY_MS, 'milliseconds'),
  pointsPerRequest: wholeNumber(1, SERIES_MAX),
  /** At least two, because one point is reserved for the overflow. */
  cardinalityLimit: wholeNumber(2, SERIES_MAX),
  // Both hidden, because a user may have swapped them.
  headerName: hidden,
  headerValue: hidden,
  encoding: oneOf(['protobuf', 'json']),
  pattern: line(255),
  instrumentType: oneOf([
    'counter',
    'gauge',
    'histogram',
    'observable_counter',
    'observable_gauge',
    'observable_up_down_counter',
    'up_down_counter',
  ]),
  text: line(1024),
  /** Metrics API, "Instrument name syntax". */
  streamName: format('a letter, followed by letters, digits or _ . - /, at most 255 characters', (text) =>
    /^[a-z][a-z0-9_.\-/]{0,254}$/i.test(text) ? { ok: true, value: text } : undefined,
  ),
  maxScale: wholeNumber(-10, 20),
  maxSize: wholeNumber(2, BUCKETS_MAX),
} as const;

const F = STANDARD_FORMATS;
const MAP = { kind: 'map' } as const;
const LIST = { kind: 'list' } as const;
const scalar = (format: Format<unknown>, required?: string): Verdict => ({
  kind: 'scalar',
  format,
  ...(required === undefined ? {} : { required }),
});
const refused = (reason: string): Verdict => ({ kind: 'refused', reason });

const ONE_WAY = 'metrics are only exported over OTLP, by otlp_grpc or otlp_http';
const NO_CONTEXT = 'there is no context to propagate';
const NO_UP_AND_DOWN = 'no instrument is an up-down counter; use counter';

/** The keys of both exporters. */
const OTLP: Readonly<Record<string, Verdict>> = {
  endpoint: scalar(otlpAddress),
  tls: MAP,
  'tls.ca_file': scalar(OPTIONS.otlp_certificate.format),
  'tls.cert_file': scalar(OPTIONS.otlp_client_certificate.format),
  'tls.key_file': scalar(OPTIONS.otlp_client_key.format),
  headers: LIST,
  'headers[]': MAP,
  'headers[].name': scalar(F.headerName, F.headerName.expects),
  'headers[].value': scalar(F.headerValue),
  headers_list: scalar(headerList),
  compression: scalar(OPTIONS.otlp_compression.format),
  timeout: scalar(F.timeout),
  temporality_preference: scalar(oneOf(['cumulative', 'delta', 'low_memory'])),
  default_histogram_aggregation: scalar(
    oneOf(['explicit_bucket_histogram', 'base2_exponential_bucket_histogram']),
  ),
};

const PERIODIC = 'meter_provider.readers[].periodic';
const LIMITS = `${PERIODIC}.cardinality_limits`;
const SELECTOR = 'meter_provider.views[].selector';
const STREAM = 'meter_provider.views[].stream';
const AGGREGATION = `${STREAM}.aggregation`;

/** Path of a key, with [] for any index → its row. */
export const STANDARD: Readonly<Record<string, Verdict>> = {
  file_format: scalar(oneOf(['1.0', '1.1']), '"1.0" or "1.1", in quotes'),
  disabled: {
    kind: 'scalar',
    format: format(
      'false (to disable celery-otel, do not run it)',
      (text) => (text === 'false' ? { ok: true, value: false } : undefined),
      { schema: { type: 'boolean' } },
    ),
  },
  log_level: scalar(F.logLevel),
  attribute_limits: refused('attributes are not limited; views can remove some'),
  logger_provider: refused('no logs are exported; they are written to stderr'),
  tracer_provider: refused('no traces are exported'),
  propagator: refused(NO_CONTEXT),
  'instrumentation/development': refused('nothing is instrumented'),
  distribution: refused('settings beyond the standard are in the section celery'),
  resource: MAP,
  'resource.attributes': LIST,
  'resource.attributes[]': MAP,
  'resource.attributes[].name': scalar(F.attributeName, F.attributeName.expects),
  'resource.attributes[].value': { kind: 'any', required: 'the value of the attribute' },
  'resource.attributes[].type': scalar(F.attributeType),
  'resource.attributes_list': scalar(attributeList),
  'resource.schema_url': refused('the attributes do not follow one version of a schema'),
  'resource.detection/development': refused('the metrics describe Celery, not this host or this process'),
  meter_provider: {
    kind: 'map',
    required:
      'a section that says where to export metrics, such as ' +
      '{ readers: [ { periodic: { exporter: { otlp_grpc: { endpoint: "http://localhost:4317" } } } } ] }',
  },
  'meter_provider.readers': {
    kind: 'list',
    only: 'only one reader, because all services are exported to one backend',
    required: 'a list of one periodic reader',
  },
  'meter_provider.readers[]': { kind: 'map', one: true },
  'meter_provider.readers[].pull': refused(`there is nothing to scrape; ${ONE_WAY}`),
  [PERIODIC]: MAP,
  [`${PERIODIC}.interval`]: scalar(F.interval),
  [`${PERIODIC}.timeout`]: scalar(F.timeout),
  [`${PERIODIC}.max_export_batch_size/development`]: scalar(F.pointsPerRequest),
  [`${PERIODIC}.producers`]: refused('only the metrics of celery-otel are exported'),
  [LIMITS]: MAP,
  [`${LIMITS}.default`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.counter`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.histogram`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.observable_gauge`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.gauge`]: refused('all gauges are asynchronous; use observable_gauge'),
  [`${LIMITS}.observable_counter`]: refused('all counters are synchronous; use counter'),
  [`${LIMITS}.observable_up_down_counter`]: refused(NO_UP_AND_DOWN),
  [`${LIMITS}.up_down_counter`]: refused(NO_UP_AND_DOWN),
  [`${PERIODIC}.exporter`]: {
    kind: 'map',
    one: true,
    required: 'otlp_grpc or otlp_http, with its settings',
  },
  [`${PERIODIC}.exporter.console`]: refused(ONE_WAY),
  [`${PERIODIC}.exporter.otlp_file/development`]: refused(ONE_WAY),
  [`${PERIODIC}.exporter.otlp_grpc`]: MAP,
  ...under(`${PERIODIC}.exporter.otlp_grpc`, OTLP),
  [`${PERIODIC}.exporter.otlp_grpc.tls.insecure`]: scalar(trueOrFalse),
  [`${PERIODIC}.exporter.otlp_http`]: MAP,
  ...under(`${PERIODIC}.exporter.otlp_http`, OTLP),
  [`${PERIODIC}.exporter.otlp_http.encoding`]: scalar(F.encoding),
  'meter_provider.exemplar_filter': scalar(
    format('always_off, because there are no exemplars', (text) =>
      text === 'always_off' ? { ok: true, value: text } : undefined,
    ),
  ),
  'meter_provider.meter_configurator/development': refused('enable and disable metrics in celery.metrics'),
  'meter_provider.views': LIST,
  'meter_provider.views[]': MAP,
  [SELECTOR]: { kind: 'map', required: 'the instruments that it selects' },
  [`${SELECTOR}.instrument_name`]: scalar(F.pattern),
  [`${SELECTOR}.instrument_type`]: scalar(F.instrumentType),
  [`${SELECTOR}.unit`]: scalar(F.text),
  [`${SELECTOR}.meter_name`]: scalar(F.text),
  [`${SELECTOR}.meter_version`]: scalar(F.text),
  [`${SELECTOR}.meter_schema_url`]: refused('the meters have no schema URL'),
  [STREAM]: { kind: 'map', required: 'the settings for the selected instruments' },
  [`${STREAM}.name`]: scalar(F.streamName),
  [`${STREAM}.description`]: scalar(F.text),
  [`${STREAM}.aggregation_cardinality_limit`]: scalar(F.cardinalityLimit),
  [`${STREAM}.attribute_keys`]: MAP,
  [`${STREAM}.attribute_keys.included`]: LIST,
  [`${STREAM}.attribute_keys.included[]`]: scalar(F.pattern),
  [`${STREAM}.attribute_keys.excluded`]: LIST,
  [`${STREAM}.attribute_keys.excluded[]`]: scalar(F.pattern),
  [AGGREGATION]: { kind: 'map', one: true },
  [`${AGGREGATION}.default`]: MAP,
  [`${AGGREGATION}.drop`]: MAP,
  [`${AGGREGATION}.sum`]: MAP,
  [`${AGGREGATION}.last_value`]: MAP,
  [`${AGGREGATION}.explicit_bucket_histogram`]: MAP,
  [`${AGGREGATION}.explicit_bucket_histogram.boundaries`]: LIST,
  [`${AGGREGATION}.explicit_bucket_histogram.boundaries[]`]: scalar(finiteNumber),
  [`${AGGREGATION}.explicit_bucket_histogram.record_min_max`]: scalar(trueOrFalse),
  [`${AGGREGATION}.base2_exponential_bucket_histogram`]: MAP,
  [`${AGGREGATION}.base2_exponential_bucket_histogram.max_scale`]: scalar(F.maxScale),
  [`${AGGREGATION}.base2_exponential_bucket_histogram.max_size`]: scalar(F.maxSize),
  [`${AGGREGATION}.base2_exponential_bucket_histogram.record_min_max`]: scalar(trueOrFalse),
};

function under(path: string, rows: Readonly<Record<string, Verdict>>): Readonly<Record<string, Verdict>> {
  return Object.fromEntries(Object.entries(rows).map(([key, row]) => [`${path}.${key}`, row]));
}

/** The keys of a map of the standard, each with its row; '' is the root. */
export function standardKeys(path: string): ReadonlyMap<string, Verdict> {
  const prefix = path === '' ? '' : `${path}.`;
  return new Map(
    Object.entries(STANDARD).flatMap(([row, verdict]) => {
      const key = row.startsWith(prefix) ? row.slice(prefix.length) : '';
      return key === '' || /[.[]/.test(key) ? [] : [[key, verdict] as const];
    }),
  );
}
