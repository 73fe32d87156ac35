/**
 * What no bridge can be made of: services that could not be told apart, metrics that go nowhere, and numbers of which
 * nothing could be made. A program that embeds the bridge has no other check of what it gives.
 */
import type { MeterProvider } from '@opentelemetry/api';
import type { BridgeOptions } from './bridge-options.ts';
import type { BrokerUrl } from './broker/broker-url.ts';
import { STANDARD_FORMATS as F } from './config/file/standard-table.ts';
import { type Format, finiteNumber, wholeNumber } from './config/format/formats.ts';
import { OPTIONS, serviceRows } from './config/options.ts';
import { EXPORT_ROWS, type Setting, settingsIn } from './config/setting.ts';
import { SELF_NAME } from './destinations.ts';
import { CeleryOtelError } from './errors.ts';
import type { ViewStream } from './otlp/collect/view.ts';
import type { OtlpSettings } from './otlp/otlp-settings.ts';

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

/** What is wrong with the numbers, each with its path: they are held to the formats of the options that set them. */
function numberFaults({ services, otlp }: BridgeOptions): readonly string[] {
  return [
    ...services.flatMap((service, index) => [
      ...settingFaults(`services[${index}]`, settingsIn(service, serviceRows())),
      ...service.broker.urls.flatMap((url, at) => urlFaults(`services[${index}].broker.urls[${at}]`, url)),
    ]),
    ...(otlp === undefined ? [] : otlpFaults(otlp)),
  ];
}

function settingFaults(at: string, settings: readonly Setting[]): readonly string[] {
  return settings.flatMap(({ path, value, format, scale }) => faultOf(`${at}.${path}`, value, format, scale));
}

function urlFaults(at: string, url: BrokerUrl): readonly string[] {
  if (url.scheme === 'recording') return url.speed > 0 ? [] : [told(`${at}.speed`, url.speed, SPEED)];
  const { port, heartbeatS } = url;
  return [
    ...faultOf(`${at}.port`, port, PORT),
    ...(heartbeatS === undefined
      ? []
      : faultOf(`${at}.heartbeatS`, heartbeatS, OPTIONS.broker_heartbeat.format)),
  ];
}

const PORT = wholeNumber(1, 65_535);
const SPEED = 'a number above 0, or Infinity';

type Numbers = readonly (readonly [path: string, value: unknown, format: Format<unknown>])[];

function otlpFaults(otlp: OtlpSettings): readonly string[] {
  const { pointsPerRequestMax: points } = otlp.schedule;
  const { limits, views } = otlp.streams;
  const numbers: Numbers = [
    ...(points === undefined ? [] : [['schedule.pointsPerRequestMax', points, F.pointsPerRequest] as const]),
    ...Object.entries(limits).map(
      ([kind, limit]) => [`streams.limits.${kind}`, limit, F.cardinalityLimit] as const,
    ),
    ...views.flatMap(({ stream }, index) =>
      numbersIn(stream).map(
        ([path, value, format]) => [`streams.views[${index}].stream.${path}`, value, format] as const,
      ),
    ),
  ];
  return [
    ...settingFaults('otlp', settingsIn(otlp, EXPORT_ROWS)),
    ...numbers.flatMap(([path, value, format]) => faultOf(`otlp.${path}`, value, format)),
  ];
}

function numbersIn({ cardinalityLimit: limit, aggregation }: ViewStream): Numbers {
  const limits: Numbers = limit === undefined ? [] : [['cardinalityLimit', limit, F.cardinalityLimit]];
  switch (aggregation?.kind) {
    case 'explicit_bucket_histogram': {
      const { boundaries = [] } = aggregation;
      return [
        ...limits,
        ...boundaries.map(
          (value, index) => [`aggregation.boundaries[${index}]`, value, finiteNumber] as const,
        ),
      ];
    }
    case 'base2_exponential_bucket_histogram':
      return [
        ...limits,
        ['aggregation.maxScale', aggregation.maxScale, F.maxScale],
        ['aggregation.maxSize', aggregation.maxSize, F.maxSize],
      ];
    default:
      return limits;
  }
}

/** @param scale how many of its unit are one of the format's */
function faultOf(
  path: string,
  value: unknown,
  { schema, expects }: Format<unknown>,
  scale = 1,
): readonly string[] {
  if (schema.type !== 'integer' && schema.type !== 'number') return [];
  const { maximum = Number.MAX_VALUE } = schema;
  const isWithin =
    typeof value === 'number' &&
    value <= maximum * scale &&
    (schema.type === 'integer'
      ? Number.isInteger(value) && value >= schema.minimum * scale
      : value > (schema.exclusiveMinimum ?? -Number.MAX_VALUE));
  if (isWithin) return [];
  return [
    told(path, value, scale === 1 ? expects : `milliseconds, more than 0 and at most ${maximum * scale}`),
  ];
}

function told(path: string, value: unknown, expected: string): string {
  return `${path} is ${typeof value === 'number' ? value : `of type ${typeof value}`}: expected ${expected}`;
}
