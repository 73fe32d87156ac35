/** The formats of options about traces and log records: samplers, outcomes of runs, patterns, and what to redact. */

import { redactPattern } from '../../logger/redact-pattern.ts';
import { FURTHER_CHARS_MAX, FURTHER_MAX, isTellingWord } from '../../logger/telling-names.ts';
import { hint } from '../../text/suggestion.ts';
import type { FinishedOutcome } from '../../tracer/ancestry/finished.ts';
import { type Format, format, itemsOf, jsonItemsOf } from './formats.ts';
import { nameList } from './queue-names.ts';
import { quote } from './redaction.ts';

/** The samplers of `OTEL_TRACES_SAMPLER` that need no other program. */
export const SAMPLER_NAMES = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof SAMPLER_NAMES)[number];

/** The severities of the logs data model; their numbers are 1 to 24. */
export const SEVERITY_NAMES = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].flatMap((name) => [
  name,
  `${name}2`,
  `${name}3`,
  `${name}4`,
]);

/** Every outcome of a run, and whether it is an error. */
const OUTCOMES: Readonly<Record<FinishedOutcome, boolean>> = {
  succeeded: false,
  failed: true,
  retried: false,
  rejected: true,
  requeued: false,
  revoked: false,
  expired: false,
  terminated: true,
  cancelled: false,
  lost: true,
  redelivered: false,
  replaced: false,
  unknown: false,
};

export const OUTCOME_NAMES = Object.keys(OUTCOMES);
/** The outcomes that are errors. */
export const ERRORS: readonly string[] = Object.entries(OUTCOMES).flatMap(([outcome, isError]) =>
  isError ? [outcome] : [],
);
const KEPT = ['errors', 'slow', ...OUTCOME_NAMES];

/** Which runs have spans, whatever the sampler decides. */
export interface KeptRuns {
  readonly outcomes: readonly string[];
  readonly slow: boolean;
}

export const keptRuns: Format<KeptRuns> = format(`${KEPT.join(', ')}, separated by commas`, (text) => {
  const words = itemsOf(text).filter((word) => word !== '');
  const wrong = words.filter((word) => !KEPT.includes(word));
  if (words.length === 0) return undefined;
  if (wrong.length > 0) {
    const complaints = wrong.map((word) => `${quote(word)} is unknown${hint(word, KEPT)}`);
    return { ok: false, expected: `${KEPT.join(', ')}, separated by commas: ${complaints.join('; ')}` };
  }
  const outcomes = words.flatMap((word) => (word === 'errors' ? ERRORS : word === 'slow' ? [] : [word]));
  return { ok: true, value: { outcomes: [...new Set(outcomes)], slow: words.includes('slow') } };
});

export const taskPatterns = nameList('names of tasks, with * and ?,');

const ONE_A_LINE = 'regular expressions, one a line, none of which matches an empty text';

/** The expressions have the flag `g`, which `replaceAll` requires. */
export const regularExpressions: Format<readonly RegExp[]> = format(
  ONE_A_LINE,
  (text) => {
    const lines = (jsonItemsOf(text) ?? text.split('\n')).flatMap((line) => line.trim() || []);
    const read = lines.map(redactPattern);
    const patterns = read.flatMap((each) => (each.ok ? [each.pattern] : []));
    const isRight = lines.length > 0 && patterns.length === lines.length;
    return isRight ? { ok: true, value: patterns } : undefined;
  },
  { list: { separator: '\n', items: { type: 'string' } } },
);

export const tellingWords: Format<readonly string[]> = format(
  `words of names separated by commas, at most ${FURTHER_MAX}, each of letters, digits, _, - and ., at least two and at most ${FURTHER_CHARS_MAX} characters, with * at either end`,
  (text) => {
    const words = [...new Set(itemsOf(text).filter((word) => word !== ''))];
    const isRight = words.length > 0 && words.length <= FURTHER_MAX && words.every(isTellingWord);
    return isRight ? { ok: true, value: words } : undefined;
  },
  { list: { separator: ',', items: { type: 'string', maxLength: FURTHER_CHARS_MAX } } },
);
