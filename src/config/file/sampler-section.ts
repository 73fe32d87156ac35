/**
 * Reads `tracer_provider.sampler` of a configuration file. Sampling rules apply to the finished span of a run. Except
 * for outcomes, it does not check whether a span can have the keys and values in a rule.
 */
import type { Sampler, SamplingRule } from '../../tracer/trace-settings.ts';
import { type Format, format, line, oneOf, ratio } from '../format/formats.ts';
import { OUTCOME_NAMES } from '../format/signal-formats.ts';
import { into, list, map, placed, present, refused, required, type Shape, scalar, within } from './shape.ts';

/** The attribute whose values are known here. */
export const OUTCOME = 'celery.task.outcome';

const outcome = oneOf(OUTCOME_NAMES);
const text = line(1024);
const texts = list(present(text), 'values');

/** Accepts only some of the standard's words. */
const only = <T extends string>(words: readonly T[], why: string): Format<T> =>
  format(`${words.join(' or ')}: ${why}`, (word) => {
    const value = words.find((one) => one === word);
    return value === undefined ? undefined : { ok: true, value };
  });

/** A sampler without settings. */
const plain = (kind: 'always_on' | 'always_off') => into(map({}), (): Sampler => ({ kind }));

const probability = into(
  map({ ratio: scalar(ratio) }),
  ({ ratio: share = 1 }): Sampler => ({ kind: 'probability', ratio: share }),
);

const sampler: Shape<Sampler> = within(() => SAMPLER);
const composable: Shape<Sampler> = within(() => COMPOSITE);

const THE_SAMPLER = 'exactly one sampler';
const ALWAYS_ON: Sampler = { kind: 'always_on' };
const ALWAYS_OFF: Sampler = { kind: 'always_off' };
const NO_LOCAL_PARENT = 'no parent is local: spans are made by celery-otel, and their parents by others';

const parentBased = into(
  map({
    root: sampler,
    remoteParentSampled: sampler,
    remoteParentNotSampled: sampler,
    localParentSampled: refused(NO_LOCAL_PARENT),
    localParentNotSampled: refused(NO_LOCAL_PARENT),
  }),
  ({ root, remoteParentSampled, remoteParentNotSampled }): Sampler => ({
    kind: 'parent_based',
    root: root ?? ALWAYS_ON,
    remoteSampled: remoteParentSampled ?? ALWAYS_ON,
    remoteNotSampled: remoteParentNotSampled ?? ALWAYS_OFF,
  }),
);

const attributeValues = into(
  map({
    key: required(scalar(text), text.expects),
    values: required(list(placed(present(text)), 'values'), 'a list of values'),
  }),
  ({ key = '', values = [] }) => {
    for (const { place, value } of key === OUTCOME ? values : []) {
      const reading = outcome.read(value);
      if (!reading.ok) place.complain(reading.expected, outcome.show(value));
    }
    return { key, values: values.map(({ value }) => value) };
  },
);

const attributePatterns = into(
  map({ key: required(scalar(text), text.expects), included: texts, excluded: texts }),
  ({ key = '', included, excluded = [] }) => ({ key, included, excluded }),
);

const CONSUMER = only(['consumer'], 'rules are about the span of a run, and that of its sending follows it');
const PARENT = only(['none', 'remote'], NO_LOCAL_PARENT);

const rule = into(
  map({
    attributeValues,
    attributePatterns,
    spanKinds: list(present(CONSUMER), 'values'),
    parent: list(present(PARENT), 'values'),
    sampler: required(composable, THE_SAMPLER),
  }),
  ({
    attributeValues: values,
    attributePatterns: patterns,
    spanKinds,
    parent,
    sampler: of,
  }): SamplingRule => ({
    ...(values && { attributeValues: values }),
    ...(patterns && { attributePatterns: patterns }),
    ...(spanKinds && { spanKinds }),
    ...(parent && { parents: parent }),
    sampler: of ?? ALWAYS_OFF,
  }),
);

const COMPOSITE = one({
  always_on: plain('always_on'),
  always_off: plain('always_off'),
  probability,
  parent_threshold: into(
    map({ root: required(composable, THE_SAMPLER) }),
    ({ root = ALWAYS_OFF }): Sampler => ({ kind: 'parent_threshold', root }),
  ),
  rule_based: into(
    map({ rules: required(list(rule), 'a list of rules') }),
    ({ rules = [] }): Sampler => ({ kind: 'rule_based', rules }),
  ),
});

export const SAMPLER: Shape<Sampler> = one({
  always_on: plain('always_on'),
  always_off: plain('always_off'),
  trace_id_ratio_based: probability,
  'probability/development': probability,
  parent_based: parentBased,
  'composite/development': COMPOSITE,
  'jaeger_remote/development': refused('no remote sampler is used'),
});

/** A map with exactly one of these keys. */
function one(kinds: Readonly<Record<string, Shape<Sampler>>>): Shape<Sampler> {
  return into(map(kinds, { one: true }), (read) => Object.values(read).find((kind) => kind !== undefined));
}
