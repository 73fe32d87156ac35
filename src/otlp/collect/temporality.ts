/** OTLP's three temporality preferences (OTLP exporter specification, "Additional environment variable configuration"). */
import { AggregationTemporality, InstrumentType } from '@opentelemetry/sdk-metrics';
import type { StreamSettings } from '../otlp-settings.ts';

/** Gauges have no temporality on the wire, so theirs here does not matter. */
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
