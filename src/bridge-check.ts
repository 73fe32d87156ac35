/**
 * What no bridge can be made of: services that could not be told apart, metrics that go nowhere, and numbers of which
 * nothing could be made. A program that embeds the bridge has no other check of what it gives.
 */
import type { MeterProvider } from '@opentelemetry/api';
import type { BridgeOptions } from './bridge-options.ts';
import type { ServiceConfig } from './config/config.ts';
import { CeleryOtelError } from './errors.ts';
import type { OtlpSettings } from './otlp/otlp-settings.ts';
import { SELF_NAME } from './outlets.ts';

/** @throws CeleryOtelError CONFIG_INVALID with all that is wrong, each number with its path */
export function checkOptions(options: BridgeOptions): void {
  const numbers = numberFaults(options);
  const mistakes = [...faults(options), ...numbers.map((message) => ({ message, hint: MEND }))];
  if (mistakes.length === 0) return;
  const hint = [...new Set(mistakes.map((mistake) => mistake.hint))].join(' ');
  throw new CeleryOtelError('CONFIG_INVALID', mistakes.map(({ message }) => message).join('; '), { hint });
}

interface Fault {
  readonly message: string;
  readonly hint: string;
}

const MEND = 'Mend the options of createBridge.';

function faults({ services, otlp, self }: BridgeOptions): readonly Fault[] {
  const found: Fault[] = [];
  const refuse = (message: string, hint = MEND): void => {
    found.push({ message, hint });
  };
  const names = services.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) refuse(`two services have the name ${JSON.stringify(twice)}`);
  if (names.includes(SELF_NAME)) refuse(`a service has the name of the bridge itself, ${SELF_NAME}`);
  const providers = services.flatMap(({ meterProvider }) => meterProvider ?? []);
  // Nothing on a point says of which service it is: that is what resources are for.
  if (new Set(providers).size < providers.length) {
    refuse('two services have one meterProvider, where their counts could not be told apart');
  }
  const isAttached = (one: { readonly meterProvider?: MeterProvider }) => one.meterProvider !== undefined;
  if (otlp === undefined && !(services.every(isAttached) && (!self.enabled || isAttached(self)))) {
    refuse(
      'there is no otlp, and not everything has a meterProvider',
      'Give otlp, or a meterProvider to every service and to self (or switch self off).',
    );
  }
  return found;
}

/** What a number may be. */
interface Bound {
  /** What stands after the word "expected". */
  readonly expected: string;
  readonly holds: (value: number) => boolean;
  /** It may be left out. */
  readonly optional?: true;
}

/** The keys of what is a number, or may be one. */
type NumberKey<T> = { [K in keyof T]-?: number extends T[K] ? K : never }[keyof T];
type Bounds<T> = Readonly<Record<NumberKey<T>, Bound>>;

type BrokerUrl = ServiceConfig['broker']['urls'][number];
type RecordingUrl = Extract<BrokerUrl, { readonly scheme: 'recording' }>;

/** The longest time that a timer of Node waits; beyond it, it does not wait at all. */
const TIMER_MS_MAX = 2 ** 31 - 1;

const TIMER: Bound = {
  expected: `milliseconds, more than 0 and at most ${TIMER_MS_MAX}`,
  holds: (value) => value > 0 && value <= TIMER_MS_MAX,
};
const SPAN: Bound = {
  expected: 'milliseconds, more than 0 and finite',
  holds: (value) => value > 0 && Number.isFinite(value),
};
const COUNT = whole(1);
/** One place is that of the overflow. */
const LIMIT = whole(2);
/** AMQP carries it as an unsigned 16-bit number; 0 is none. */
const HEARTBEAT = whole(0, 65_535);

const BROKER = { connectTimeoutMs: TIMER } satisfies Bounds<ServiceConfig['broker']>;
const AMQP = { heartbeatS: HEARTBEAT, eventQueueBytesMax: COUNT } satisfies Bounds<
  ServiceConfig['broker']['amqp']
>;
const ADDRESS = { port: whole(1, 65_535), heartbeatS: optional(HEARTBEAT) } satisfies Bounds<
  Exclude<BrokerUrl, RecordingUrl>
>;
const RECORDING = {
  speed: { expected: 'a number above 0, or Infinity', holds: (value) => value > 0 },
} satisfies Bounds<RecordingUrl>;
const CLUSTER = {
  tasksMax: COUNT,
  workersMax: COUNT,
  heldMax: COUNT,
  skewPairsMax: COUNT,
  workerTimeoutMs: SPAN,
  lostTimeoutMs: SPAN,
  seriesRetentionMs: SPAN,
  windowMs: SPAN,
} satisfies Bounds<ServiceConfig['cluster']>;
const EXPORTER = { timeoutMs: TIMER } satisfies Bounds<OtlpSettings['exporter']>;
const SCHEDULE = {
  intervalMs: TIMER,
  timeoutMs: TIMER,
  pointsPerRequestMax: optional(COUNT),
} satisfies Bounds<OtlpSettings['schedule']>;
const LIMITS = { counter: LIMIT, histogram: LIMIT, gauge: LIMIT } satisfies Bounds<
  OtlpSettings['streams']['limits']
>;
const STREAM = { cardinalityLimit: optional(LIMIT) };
const EXPONENTIAL = { maxScale: whole(-10, 20), maxSize: whole(2) };
const BOUNDARY: Bound = { expected: 'a finite number', holds: Number.isFinite };

/** What is wrong with the numbers, each with its path: what is not finite or below what means something. */
function numberFaults({ services, otlp }: BridgeOptions): readonly string[] {
  return [
    ...services.flatMap(({ broker, cluster }, index) => [
      ...faultsIn(`services[${index}].broker`, broker, BROKER),
      ...faultsIn(`services[${index}].broker.amqp`, broker.amqp, AMQP),
      ...broker.urls.flatMap((url, at) =>
        faultsIn(
          `services[${index}].broker.urls[${at}]`,
          url,
          url.scheme === 'recording' ? RECORDING : ADDRESS,
        ),
      ),
      ...faultsIn(`services[${index}].cluster`, cluster, CLUSTER),
    ]),
    ...(otlp === undefined ? [] : otlpFaults(otlp)),
  ];
}

function otlpFaults({ exporter, schedule, streams }: OtlpSettings): readonly string[] {
  return [
    ...faultsIn('otlp.exporter', exporter, EXPORTER),
    ...faultsIn('otlp.schedule', schedule, SCHEDULE),
    ...faultsIn('otlp.streams.limits', streams.limits, LIMITS),
    ...streams.views.flatMap(({ stream }, index) => {
      const at = `otlp.streams.views[${index}].stream`;
      const { aggregation } = stream;
      const boundaries = aggregation?.kind === 'explicit_bucket_histogram' ? aggregation.boundaries : [];
      const isExponential = aggregation?.kind === 'base2_exponential_bucket_histogram';
      return [
        ...faultsIn(at, stream, STREAM),
        ...(isExponential ? faultsIn(`${at}.aggregation`, aggregation, EXPONENTIAL) : []),
        ...(boundaries ?? []).flatMap((value, item) =>
          faultOf(`${at}.aggregation.boundaries[${item}]`, value, BOUNDARY),
        ),
      ];
    }),
  ];
}

function faultsIn(at: string, holder: object, bounds: Readonly<Record<string, Bound>>): readonly string[] {
  return Object.entries(bounds).flatMap(([key, bound]) => {
    const value: unknown = Reflect.get(holder, key);
    return value === undefined && bound.optional === true ? [] : faultOf(`${at}.${key}`, value, bound);
  });
}

function faultOf(path: string, value: unknown, { expected, holds }: Bound): readonly string[] {
  if (typeof value === 'number' && holds(value)) return [];
  const is = typeof value === 'number' ? String(value) : `of type ${typeof value}`;
  return [`${path} is ${is}: expected ${expected}`];
}

function optional(bound: Bound): Bound {
  return { ...bound, optional: true };
}

function whole(min: number, max = Number.MAX_SAFE_INTEGER): Bound {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return {
    expected: `a whole number ${range}`,
    holds: (value) => Number.isSafeInteger(value) && value >= min && value <= max,
  };
}
