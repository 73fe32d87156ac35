/**
 * The table of the general variables of the OpenTelemetry specification that belong to no option. Each is reported as having no
 * effect, or is checked here, so that none is silently ignored. It prints no values.
 */
import { hint } from '../text/suggestion.ts';
import type { Mistake } from './mistake.ts';
import { optionRows } from './options.ts';

type Effect =
  /** The variable is reported, and changes nothing. */
  | { readonly kind: 'without effect'; readonly because: string }
  /** @returns what was expected, or why the variable has no effect; undefined if the value is right */
  | { readonly kind: 'checked'; readonly check: (text: string) => Complaint | undefined };

type Complaint = { readonly expected: string } | { readonly because: string };

const withoutEffect = (because: string): Effect => ({ kind: 'without effect', because });
const checked = (check: (text: string) => Complaint | undefined): Effect => ({ kind: 'checked', check });

const FIXED = withoutEffect('the number of attributes, events and links is fixed, and small');
const OTLP_ALONE = withoutEffect('celery-otel exports over OTLP alone; a Collector can pass it on');

/** Those on the pages “Environment Variable Specification” and “OpenTelemetry Protocol Exporter”. */
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
  ['OTEL_ENTITIES', withoutEffect('set OTEL_RESOURCE_ATTRIBUTES')],
  [
    'OTEL_PROPAGATORS',
    withoutEffect('celery-otel passes on no traces; how it joins them is in docs/tracing.md'),
  ],
  ['OTEL_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_SPAN_EVENT_COUNT_LIMIT', FIXED],
  ['OTEL_SPAN_LINK_COUNT_LIMIT', FIXED],
  ['OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_LINK_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT', FIXED],
  ['OTEL_EXPORTER_OTLP_SPAN_INSECURE', withoutEffect('it has become OTEL_EXPORTER_OTLP_TRACES_INSECURE')],
  ['OTEL_EXPORTER_OTLP_METRIC_INSECURE', withoutEffect('it has become OTEL_EXPORTER_OTLP_METRICS_INSECURE')],
  ['OTEL_EXPORTER_ZIPKIN_ENDPOINT', OTLP_ALONE],
  ['OTEL_EXPORTER_ZIPKIN_TIMEOUT', OTLP_ALONE],
  ['OTEL_EXPORTER_ZIPKIN_PROTOCOL', OTLP_ALONE],
  ['OTEL_EXPORTER_PROMETHEUS_HOST', OTLP_ALONE],
  ['OTEL_EXPORTER_PROMETHEUS_PORT', OTLP_ALONE],
  [
    'OTEL_METRICS_EXPORTER',
    checked((text) => {
      const isOtlp = text.split(',').every((word) => ['otlp', ''].includes(word.trim().toLowerCase()));
      if (isOtlp) return undefined;
      return { expected: 'otlp: metrics are always exported, over OTLP alone; a Collector can pass them on' };
    }),
  ],
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
  if (effect !== undefined) return effect.kind === 'checked' ? effect.check(text) : effect;
  // Other variables `OTEL_…` belong to other programs and languages.
  if (!/^OTEL_EXPORTER_OTLP_[A-Z_]{1,60}$/u.test(name)) return undefined;
  const known = optionRows().flatMap(([, { env }]) => env);
  return known.includes(name) ? undefined : { because: `there is no such variable${hint(name, known)}` };
}
