/** The temporality preferences of the OTLP exporter specification, for readers of the SDK. */
import { AggregationTemporality, InstrumentType } from '@opentelemetry/sdk-metrics';
import type { StreamSettings } from '../../../src/otlp/otlp-settings.ts';

/** A gauge has none on the wire; with delta, the SDK forgets those that are gone. */
export function temporalityOf(
  instrument: InstrumentType,
  preference: StreamSettings['temporality'],
): AggregationTemporality {
  switch (instrument) {
    case InstrumentType.COUNTER:
    case InstrumentType.HISTOGRAM:
      return preference === 'cumulative' ? AggregationTemporality.CUMULATIVE : AggregationTemporality.DELTA;
    case InstrumentType.OBSERVABLE_COUNTER:
      return preference === 'delta' ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE;
    case InstrumentType.GAUGE:
    case InstrumentType.OBSERVABLE_GAUGE:
      return AggregationTemporality.DELTA;
    case InstrumentType.UP_DOWN_COUNTER:
    case InstrumentType.OBSERVABLE_UP_DOWN_COUNTER:
      return AggregationTemporality.CUMULATIVE;
  }
}
