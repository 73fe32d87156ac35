/** Names of metrics, and lists of them. One that ends in `*` stands for every name that begins so. */
import { isMetricName, METRIC_NAMES } from '../../meter/catalog.ts';
import { fits } from '../metric-choice.ts';
import { type Format, format } from './formats.ts';
import { nearest } from './near-miss.ts';
import { quote } from './redaction.ts';

const EXPECTS = 'names of metrics with , between them; * at the end of a name stands for anything';

/** Entries as they are given, each of which fits a metric. */
export const metricList: Format<readonly string[]> = format(EXPECTS, (text) => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const complaints = entries.flatMap((entry) => {
    const fault = nameFault(entry);
    return fault === undefined ? [] : [`${quote(entry)} ${fault}`];
  });
  if (complaints.length > 0) return { ok: false, expected: `${EXPECTS}: ${complaints.join('; ')}` };
  return entries.length === 0 ? undefined : { ok: true, value: [...new Set(entries)] };
});

/** What is wrong with a name, if something is. */
export function nameFault(entry: string): string | undefined {
  if (entry.endsWith('*')) {
    return METRIC_NAMES.some((name) => fits(entry, name)) ? undefined : 'fits none';
  }
  if (isMetricName(entry)) return undefined;
  const near = nearest(entry, METRIC_NAMES);
  return `is none${near === undefined ? '' : ` (did you mean ${near}?)`}`;
}
