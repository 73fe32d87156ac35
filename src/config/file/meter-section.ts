/**
 * Reads `meter_provider` of a configuration file: the export options of metrics, and settings that only a file can have
 * (views, limits, headers as a list). From these, or from options alone, it builds the settings of `otlp/`.
 */
import type { OtlpSettings, StreamSettings } from '../../otlp/otlp-settings.ts';
import { oneOf, wholeNumber } from '../format/formats.ts';
import type { Options } from '../option-rules.ts';
import { defaultOf } from '../options.ts';
import type { Origins } from '../origins.ts';
import { settingsOf } from '../settings.ts';
import { exporterKeys, exporterSettings, noLimit, option, readExporter } from './exporter-section.ts';
import type { FilePath } from './file-path.ts';
import type { FileValue } from './file-value.ts';
import { list, map, type Read, refused, required, scalar } from './shape.ts';
import { cardinalityLimit, VIEWS } from './views.ts';

/** The default of the specification. */
const CARDINALITY_LIMIT = 2000;

const LIMITS: FilePath = ['meter_provider', 'readers', 0, 'periodic', 'cardinality_limits'];

export const pointsPerRequest = wholeNumber(1, 1_000_000);

const NO_UP_AND_DOWN = 'no instrument is an up-down counter; use counter';

const EXPORTER = exporterKeys('metrics', {
  temporality_preference: scalar(oneOf(['cumulative', 'delta', 'low_memory'])),
  default_histogram_aggregation: option('otlp_default_histogram_aggregation'),
});

const PERIODIC = map({
  interval: option('metric_export_interval'),
  timeout: noLimit,
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
  exporter: EXPORTER,
});

export const METER_PROVIDER = map({
  readers: required(
    list(
      map(
        {
          periodic: PERIODIC,
          pull: refused(
            'celery-otel has no scrape endpoint; metrics are only exported over OTLP, by otlp_grpc or otlp_http',
          ),
        },
        { one: true },
      ),
      'maps',
      'only one reader, because all services are exported to one backend',
    ),
    'a list of one periodic reader',
  ),
  exemplar_filter: option('metrics_exemplar_filter'),
  'meter_configurator/development': refused('enable and disable metrics in celery.metrics'),
  views: VIEWS,
});

type Reader = Read<typeof PERIODIC>;

/** @param root the whole file @param meter what was read from the section */
export function readMeterProvider(
  root: FileValue,
  meter: Read<typeof METER_PROVIDER> | undefined,
  origins: Origins,
) {
  const reader = meter?.readers?.[0]?.periodic ?? {};
  const { interval = defaultOf('metric_export_interval'), timeout = defaultOf('metric_export_timeout') } =
    reader;
  // An export must end before the next one.
  const longest = { metric_export_timeout: interval, otlp_timeout: Math.min(timeout || interval, interval) };
  for (const kind of ['counter', 'histogram', 'observable_gauge']) {
    const limits = [kind, 'default'].map((key) => root.find([...LIMITS, key]));
    origins.note([...LIMITS, kind], limits.find((limit) => limit?.isNull === false)?.source);
  }
  return {
    ...readExporter(root, 'metrics', { exporter: reader.exporter, longest }, origins),
    views: meter?.views ?? [],
    limits: limitsOf(reader.cardinality_limits),
    pointsPerRequestMax: reader['max_export_batch_size/development'],
  };
}

/** The limits for the instruments that celery-otel uses: counters, histograms and observable gauges. */
function limitsOf(given: Reader['cardinality_limits'] = {}): StreamSettings['limits'] {
  const { default: limit = CARDINALITY_LIMIT } = given;
  const { counter = limit, histogram = limit, observable_gauge: gauge = limit } = given;
  return { counter, histogram, gauge };
}

/** The settings of `otlp/`. @param meter undefined without a file */
export function otlpSettings(options: Options, meter?: ReturnType<typeof readMeterProvider>): OtlpSettings {
  const schedule = settingsOf(options, 'schedule');
  return {
    exporter: exporterSettings(options, meter),
    streams: {
      ...settingsOf(options, 'streams'),
      temporality: options.need('otlp_temporality_preference'),
      views: meter?.views ?? [],
      zeroFirstMs: zeroFirstMs(options),
      limits: meter?.limits ?? limitsOf(),
    },
    schedule: {
      ...schedule,
      // The default may exceed a short interval, but an export must end before the next one.
      timeoutMs: Math.min(schedule.timeoutMs, schedule.intervalMs),
      pointsPerRequestMax: meter?.pointsPerRequestMax,
    },
  };
}

/** By default, it is undefined for the replay of a recording, which ends soon and is not scraped. */
function zeroFirstMs(options: Options): number | undefined {
  const isReplay = options.value('broker_url')?.every(({ scheme }) => scheme === 'recording') === true;
  const given = options.need('zero_first');
  if (given === 'off' || (isReplay && !options.isGiven('zero_first'))) return undefined;
  return Math.round(given * 1000);
}
