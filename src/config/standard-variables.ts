/**
 * The table of the general variables of the OpenTelemetry specification. Each belongs to an option, is reported as having no
 * effect, or is checked here, so that none is silently ignored. It prints no values.
 */
import { hint } from '../text/suggestion.ts';
import type { Mistake } from './mistake.ts';
import { optionRows } from './options.ts';

type Effect =
  /** The variable belongs to an option in `options.ts`. */
  | { readonly kind: 'option' }
  /** The variable is reported, and changes nothing. */
  | { readonly kind: 'without effect'; readonly because: string }
  /** @returns what was expected, or why the variable has no effect; undefined if the value is right */
  | { readonly kind: 'checked'; readonly check: (text: string) => Complaint | undefined };

type Complaint = { readonly expected: string } | { readonly because: string };

const OPTION: Effect = { kind: 'option' };
const withoutEffect = (because: string): Effect => ({ kind: 'without effect', because });
const checked = (check: (text: string) => Complaint | undefined): Effect => ({ kind: 'checked', check });

const FIXED = withoutEffect('the number of attributes, events and links is fixed, and small');
const OTLP_ALONE = withoutEffect('celery-otel exports over OTLP alone; a Collector can pass it on');
const SIGNALS = ['', 'METRICS_', 'TRACES_', 'LOGS_'];
const OF_OTLP = [
  ...['ENDPOINT', 'INSECURE', 'CERTIFICATE', 'CLIENT_KEY', 'CLIENT_CERTIFICATE', 'HEADERS'],
  ...['COMPRESSION', 'TIMEOUT', 'PROTOCOL'],
];
/** The prefix of the OTLP exporter’s variables. The table has all of them, so another name with it is a typing error. */
const OTLP_PREFIX = 'OTEL_EXPORTER_OTLP_';

/** The variables on the pages “Environment Variable Specification” and “OpenTelemetry Protocol Exporter”. */
export const STANDARD_VARIABLES: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  [
    'OTEL_SDK_DISABLED',
    checked((text) => {
      const word = text.toLowerCase();
      if (word === 'true') {
        return {
          expected: 'false: with true nothing is exported; to switch celery-otel off, do not start it',
        };
      }
      return word === 'false' ? undefined : { because: 'it is not a boolean, and is read as false' };
    }),
  ],
  ['OTEL_RESOURCE_ATTRIBUTES', OPTION],
  ['OTEL_SERVICE_NAME', OPTION],
  ['OTEL_ENTITIES', withoutEffect('set OTEL_RESOURCE_ATTRIBUTES')],
  ['OTEL_LOG_LEVEL', OPTION],
  [
    'OTEL_PROPAGATORS',
    withoutEffect('celery-otel passes on no traces; how it joins them is in docs/tracing.md'),
  ],
  ['OTEL_TRACES_SAMPLER', OPTION],
  ['OTEL_TRACES_SAMPLER_ARG', OPTION],
  ...['BSP', 'BLRP'].flatMap((processor) =>
    ['SCHEDULE_DELAY', 'EXPORT_TIMEOUT', 'MAX_QUEUE_SIZE', 'MAX_EXPORT_BATCH_SIZE'].map(
      (name) => [`OTEL_${processor}_${name}`, OPTION] as const,
    ),
  ),
  ['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT', OPTION],
  ['OTEL_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', OPTION],
  ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_SPAN_EVENT_COUNT_LIMIT', FIXED],
  ['OTEL_SPAN_LINK_COUNT_LIMIT', FIXED],
  ['OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_LINK_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT', OPTION],
  ['OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ...SIGNALS.flatMap((signal) => OF_OTLP.map((name) => [`${OTLP_PREFIX}${signal}${name}`, OPTION] as const)),
  ['OTEL_EXPORTER_OTLP_SPAN_INSECURE', withoutEffect('it has become OTEL_EXPORTER_OTLP_TRACES_INSECURE')],
  ['OTEL_EXPORTER_OTLP_METRIC_INSECURE', withoutEffect('it has become OTEL_EXPORTER_OTLP_METRICS_INSECURE')],
  ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', OPTION],
  ['OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION', OPTION],
  ['OTEL_EXPORTER_ZIPKIN_ENDPOINT', OTLP_ALONE],
  ['OTEL_EXPORTER_ZIPKIN_TIMEOUT', OTLP_ALONE],
  ['OTEL_EXPORTER_ZIPKIN_PROTOCOL', OTLP_ALONE],
  ['OTEL_EXPORTER_PROMETHEUS_HOST', OTLP_ALONE],
  ['OTEL_EXPORTER_PROMETHEUS_PORT', OTLP_ALONE],
  ['OTEL_TRACES_EXPORTER', OPTION],
  [
    'OTEL_METRICS_EXPORTER',
    checked((text) => {
      const isOtlp = text.split(',').every((word) => ['otlp', ''].includes(word.trim().toLowerCase()));
      if (isOtlp) return undefined;
      return { expected: 'otlp: metrics are always exported, over OTLP alone; a Collector can pass them on' };
    }),
  ],
  ['OTEL_LOGS_EXPORTER', OPTION],
  ['OTEL_METRICS_EXEMPLAR_FILTER', OPTION],
  ['OTEL_METRIC_EXPORT_INTERVAL', OPTION],
  ['OTEL_METRIC_EXPORT_TIMEOUT', OPTION],
  ['OTEL_CONFIG_FILE', OPTION],
  ['OTEL_EXPERIMENTAL_CONFIG_FILE', withoutEffect('it has become OTEL_CONFIG_FILE')],
]);

/** Mistakes in these variables, and warnings about those without effect. An empty variable is unset. */
export function readStandard(env: Readonly<Record<string, string | undefined>>) {
  const mistakes: Mistake[] = [];
  const warnings: string[] = [];
  for (const [name, given] of Object.entries(env)) {
    const text = given?.trim() ?? '';
    const complaint = text === '' ? undefined : complaintOf(name, text);
    if (complaint === undefined) continue;
    if ('because' in complaint) warnings.push(`${name} has no effect: ${complaint.because}`);
    else mistakes.push({ path: 'environment', source: name, expected: complaint.expected });
  }
  return { mistakes, warnings };
}

function complaintOf(name: string, text: string): Complaint | undefined {
  const effect = STANDARD_VARIABLES.get(name);
  if (effect === undefined)
    return isTypo(name) ? { because: `there is no such variable${near(name)}` } : undefined;
  switch (effect.kind) {
    case 'option':
      return undefined;
    case 'without effect':
      return effect;
    case 'checked':
      return effect.check(text);
  }
}

/** Whether an unknown variable is a typing error. Other variables `OTEL_…` belong to other programs and languages. */
function isTypo(name: string): boolean {
  return /^OTEL_EXPORTER_OTLP_[A-Z_]{1,60}$/u.test(name);
}

function near(name: string): string {
  return hint(
    name,
    optionRows().flatMap(([, { env }]) => env),
  );
}
