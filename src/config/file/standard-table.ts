/**
 * The table of what an OpenTelemetry configuration file can say: each key of its schema, whether it is honoured and as
 * what it is read, or why it is refused. A key without a row is a mistake; `celery` is not the standard's.
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
  /** A text, number or boolean; without a value it is as if it was not there. */
  | { readonly kind: 'scalar'; readonly format: Format<unknown>; readonly required?: string }
  /** `one`: exactly one of its keys is there. */
  | { readonly kind: 'map'; readonly one?: true; readonly required?: string }
  /** `only`: it has one item, and why. */
  | { readonly kind: 'list'; readonly only?: string; readonly required?: string }
  /** Is read by whoever knows what it may be. */
  | { readonly kind: 'any'; readonly required?: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** The finer grades of each (logs data model, "Severity") are refused: there are no lines between two of these. */
const SEVERITIES = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

const DAY_MS = 86_400_000;
const SERIES_MAX = 1_000_000;
const BUCKETS_MAX = 16_384;

const hidden = format('text', (text) => ({ ok: true, value: text }), { show: () => quote(MASK) });

const ATTRIBUTE_TYPES = ['string', 'bool', 'int', 'double'] as const;
export type AttributeType = (typeof ATTRIBUTE_TYPES)[number] | `${(typeof ATTRIBUTE_TYPES)[number]}_array`;

/** How what is honoured is read, by name, where others than the table ask. */
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
  /** Two at the least: one place is that of the overflow. */
  cardinalityLimit: wholeNumber(2, SERIES_MAX),
  // The two may have been taken for each other.
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
  streamName: format('a letter, then letters, digits and _ . - /, at most 255', (text) =>
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

const ONE_WAY = 'metrics are pushed over OTLP, as otlp_grpc or otlp_http says';
const NO_CONTEXT = 'there is no context that could be passed on';
const NO_UP_AND_DOWN = 'no metric here is of this kind; whatever counts is limited by counter';

/** What both exporters have. */
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

/** Path of a key, with [] for any index → what becomes of it. */
export const STANDARD: Readonly<Record<string, Verdict>> = {
  file_format: scalar(oneOf(['1.0', '1.1']), '"1.0" or "1.1", in quotes'),
  disabled: {
    kind: 'scalar',
    format: format(
      'false, since to disable it is not to run it',
      (text) => (text === 'false' ? { ok: true, value: false } : undefined),
      { schema: { type: 'boolean' } },
    ),
  },
  log_level: scalar(F.logLevel),
  attribute_limits: refused(
    'Celery decides what attributes there are and what they hold; views choose among them',
  ),
  logger_provider: refused('no logs are sent; the log is on stderr'),
  tracer_provider: refused('no traces are made'),
  propagator: refused(NO_CONTEXT),
  'instrumentation/development': refused('nothing is instrumented'),
  distribution: refused('what is not the standard’s is in the section celery'),
  resource: MAP,
  'resource.attributes': LIST,
  'resource.attributes[]': MAP,
  'resource.attributes[].name': scalar(F.attributeName, F.attributeName.expects),
  'resource.attributes[].value': { kind: 'any', required: 'what the attribute is' },
  'resource.attributes[].type': scalar(F.attributeType),
  'resource.attributes_list': scalar(attributeList),
  'resource.schema_url': refused('the attributes follow no schema of one version'),
  'resource.detection/development': refused(
    'the metrics are about Celery, which does not run on this host or in this process',
  ),
  meter_provider: {
    kind: 'map',
    required:
      'a section that says where metrics go, for one ' +
      '{ readers: [ { periodic: { exporter: { otlp_grpc: { endpoint: "http://localhost:4317" } } } } ] }',
  },
  'meter_provider.readers': {
    kind: 'list',
    only: 'one reader: all services are sent to one backend',
    required: 'a list of one reader, which is periodic',
  },
  'meter_provider.readers[]': { kind: 'map', one: true },
  'meter_provider.readers[].pull': refused(`nothing is scraped; ${ONE_WAY}`),
  [PERIODIC]: MAP,
  [`${PERIODIC}.interval`]: scalar(F.interval),
  [`${PERIODIC}.timeout`]: scalar(F.timeout),
  [`${PERIODIC}.max_export_batch_size/development`]: scalar(F.pointsPerRequest),
  [`${PERIODIC}.producers`]: refused('the only metrics are those of celery-otel'),
  [LIMITS]: MAP,
  [`${LIMITS}.default`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.counter`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.histogram`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.observable_gauge`]: scalar(F.cardinalityLimit),
  [`${LIMITS}.gauge`]: refused('all gauges are observable_gauge'),
  [`${LIMITS}.observable_counter`]: refused('all counters are counter'),
  [`${LIMITS}.observable_up_down_counter`]: refused(NO_UP_AND_DOWN),
  [`${LIMITS}.up_down_counter`]: refused(NO_UP_AND_DOWN),
  [`${PERIODIC}.exporter`]: {
    kind: 'map',
    one: true,
    required: 'otlp_grpc or otlp_http, with what it needs',
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
    format('always_off, since no exemplars are made', (text) =>
      text === 'always_off' ? { ok: true, value: text } : undefined,
    ),
  ),
  'meter_provider.meter_configurator/development': refused('metrics are switched in celery.metrics'),
  'meter_provider.views': LIST,
  'meter_provider.views[]': MAP,
  [SELECTOR]: { kind: 'map', required: 'what it selects' },
  [`${SELECTOR}.instrument_name`]: scalar(F.pattern),
  [`${SELECTOR}.instrument_type`]: scalar(F.instrumentType),
  [`${SELECTOR}.unit`]: scalar(F.text),
  [`${SELECTOR}.meter_name`]: scalar(F.text),
  [`${SELECTOR}.meter_version`]: scalar(F.text),
  [`${SELECTOR}.meter_schema_url`]: refused('no meter here has a schema'),
  [STREAM]: { kind: 'map', required: 'what becomes of what it selects' },
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

/** The keys that a map of the standard may have, each with its row; '' is the root. */
export function standardKeys(path: string): ReadonlyMap<string, Verdict> {
  const prefix = path === '' ? '' : `${path}.`;
  return new Map(
    Object.entries(STANDARD).flatMap(([row, verdict]) => {
      const key = row.startsWith(prefix) ? row.slice(prefix.length) : '';
      return key === '' || /[.[]/.test(key) ? [] : [[key, verdict] as const];
    }),
  );
}
