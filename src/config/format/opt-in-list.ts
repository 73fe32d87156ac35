/** Lists of opt-in attributes, each written `METRIC/ATTRIBUTE`, as the catalog has them. */
import { OPT_INS, type OptIn } from '../../meter/catalog.ts';
import { type Format, format } from './formats.ts';
import { nearest } from './near-miss.ts';
import { quote } from './redaction.ts';

const EXPECTS = `any of ${OPT_INS.join(', ')} with , between them`;

export const optInList: Format<readonly OptIn[]> = format(EXPECTS, (text) => {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const known = OPT_INS.filter((optIn) => entries.includes(optIn));
  const unknown = entries.filter((entry) => OPT_INS.every((optIn) => optIn !== entry));
  if (unknown.length > 0) return { ok: false, expected: `${EXPECTS}: ${unknown.map(complaint).join('; ')}` };
  return known.length === 0 ? undefined : { ok: true, value: known };
});

function complaint(entry: string): string {
  const near = nearest(entry, OPT_INS);
  return `${quote(entry)} is none${near === undefined ? '' : ` (did you mean ${near}?)`}`;
}
