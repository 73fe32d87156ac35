/** The formats of lists of metrics and of opt-in attributes. Both accept only names in the catalog. */
import { isMetricName, METRIC_NAMES, OPT_INS, type OptIn } from '../../meter/catalog.ts';
import { fits } from '../../meter/metric-choice.ts';
import { hint } from '../../text/suggestion.ts';
import { type Format, format, itemsOf } from './formats.ts';
import { quote } from './redaction.ts';

/** Metric names; a name that ends in `*` matches all names with that prefix. */
export const metricList: Format<readonly string[]> = listOf(
  'metric names separated by commas; a * at the end of a name matches any rest',
  nameFault,
  (entries) => [...new Set(entries)],
);

/** Opt-in attributes, written `METRIC/ATTRIBUTE`, in the order of the catalog. */
export const optInList: Format<readonly OptIn[]> = listOf(
  `${OPT_INS.join(', ')}, separated by commas`,
  (entry) => (OPT_INS.some((optIn) => optIn === entry) ? undefined : `is unknown${hint(entry, OPT_INS)}`),
  (entries) => OPT_INS.filter((optIn) => entries.includes(optIn)),
);

/** The fault of a name; undefined if it is valid. */
export function nameFault(entry: string): string | undefined {
  if (entry.endsWith('*')) {
    return METRIC_NAMES.some((name) => fits(entry, name)) ? undefined : 'matches no metric';
  }
  return isMetricName(entry) ? undefined : `is unknown${hint(entry, METRIC_NAMES)}`;
}

function listOf<T>(
  expects: string,
  fault: (entry: string) => string | undefined,
  value: (entries: readonly string[]) => readonly T[],
): Format<readonly T[]> {
  return format(expects, (text) => {
    const entries = itemsOf(text).filter((entry) => entry !== '');
    const wrong = entries.filter((entry) => fault(entry) !== undefined);
    const complaints = wrong.map((entry) => `${quote(entry)} ${fault(entry)}`);
    if (complaints.length > 0) return { ok: false, expected: `${expects}: ${complaints.join('; ')}` };
    return entries.length === 0 ? undefined : { ok: true, value: value(entries) };
  });
}
