/** Lists of metrics and of opt-in attributes, as the catalog has them. */
import { isMetricName, METRIC_NAMES, OPT_INS, type OptIn } from '../../meter/catalog.ts';
import { fits } from '../metric-choice.ts';
import { type Format, format } from './formats.ts';
import { hint } from './near-miss.ts';
import { quote } from './redaction.ts';

/** Names of metrics as they are given, each of which fits one; a name that ends in `*` stands for all that begin so. */
export const metricList: Format<readonly string[]> = listOf(
  'names of metrics with , between them; * at the end of a name stands for anything',
  nameFault,
  (entries) => [...new Set(entries)],
);

/** Opt-in attributes, each written `METRIC/ATTRIBUTE`, in the order of the catalog. */
export const optInList: Format<readonly OptIn[]> = listOf(
  `any of ${OPT_INS.join(', ')} with , between them`,
  (entry) => (OPT_INS.some((optIn) => optIn === entry) ? undefined : `is none${hint(entry, OPT_INS)}`),
  (entries) => OPT_INS.filter((optIn) => entries.includes(optIn)),
);

/** What is wrong with a name, if something is. */
export function nameFault(entry: string): string | undefined {
  if (entry.endsWith('*')) {
    return METRIC_NAMES.some((name) => fits(entry, name)) ? undefined : 'fits none';
  }
  return isMetricName(entry) ? undefined : `is none${hint(entry, METRIC_NAMES)}`;
}

function listOf<T>(
  expects: string,
  fault: (entry: string) => string | undefined,
  value: (entries: readonly string[]) => readonly T[],
): Format<readonly T[]> {
  return format(expects, (text) => {
    const entries = text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '');
    const wrong = entries.filter((entry) => fault(entry) !== undefined);
    const complaints = wrong.map((entry) => `${quote(entry)} ${fault(entry)}`);
    if (complaints.length > 0) return { ok: false, expected: `${expects}: ${complaints.join('; ')}` };
    return entries.length === 0 ? undefined : { ok: true, value: value(entries) };
  });
}
