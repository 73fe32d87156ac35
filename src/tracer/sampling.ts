/**
 * Compiles the configured sampler to one function from a finished span to a threshold. It is called once the outcome of a run
 * is known. The threshold never depends on the trace id, so that backends can extrapolate from the spans that are kept. Pure.
 */
import { wildcard } from '../text/wildcard.ts';
import type { AttributeValue, SpanKind } from './span.ts';
import { KEPT, KEPT_BY_PARENT, type Threshold, thresholdOf } from './threshold.ts';
import { SAMPLED } from './trace-context.ts';
import type { Sampler, SamplingRule } from './trace-settings.ts';

/** The facts that a sampler can use. */
export interface Sampled {
  readonly kind: SpanKind;
  /** The trace flags of the remote parent, if the trace begins in another program. */
  readonly upstreamFlags: number | undefined;
  attribute(key: string): AttributeValue | undefined;
}

/** @returns undefined if the span is dropped */
export type Decide = (span: Sampled) => Threshold | undefined;

export function compileSampler(sampler: Sampler): Decide {
  switch (sampler.kind) {
    case 'always_on':
      return () => KEPT;
    case 'always_off':
      return () => undefined;
    case 'probability': {
      const threshold = thresholdOf(sampler.ratio);
      return () => threshold;
    }
    case 'parent_based':
      return byParent(
        compileSampler(sampler.root),
        afterFlag(compileSampler(sampler.remoteSampled)),
        afterFlag(compileSampler(sampler.remoteNotSampled)),
      );
    case 'parent_threshold':
      return byParent(
        compileSampler(sampler.root),
        () => KEPT_BY_PARENT,
        () => undefined,
      );
    case 'rule_based':
      return byRules(sampler.rules);
  }
}

/** Whether the sampler may keep one span of a trace and drop another one. */
export function canSplitTraces(sampler: Sampler): boolean {
  switch (sampler.kind) {
    case 'always_on':
    case 'always_off':
    case 'probability':
      return false;
    case 'parent_based':
      return [sampler.root, sampler.remoteSampled, sampler.remoteNotSampled].some(canSplitTraces);
    case 'parent_threshold':
      return canSplitTraces(sampler.root);
    case 'rule_based':
      return true;
  }
}

function byParent(root: Decide, sampled: Decide, notSampled: Decide): Decide {
  return (span) => {
    const flags = span.upstreamFlags;
    if (flags === undefined) return root(span);
    return (flags & SAMPLED) === 0 ? notSampled(span) : sampled(span);
  };
}

/**
 * Removes the trace state: a traceparent does not contain the probability with which its flag was set, so the probability of
 * its children is unknown, too.
 */
function afterFlag(decide: Decide): Decide {
  const withoutState = new Map<Threshold, Threshold>();
  return (span) => {
    const threshold = decide(span);
    if (threshold === undefined) return undefined;
    const known = withoutState.get(threshold);
    if (known !== undefined) return known;
    const made = { least: threshold.least, traceState: '' };
    withoutState.set(threshold, made);
    return made;
  };
}

function byRules(rules: readonly SamplingRule[]): Decide {
  const compiled = rules.map((rule) => ({ matches: matcher(rule), decide: compileSampler(rule.sampler) }));
  return (span) => compiled.find(({ matches }) => matches(span))?.decide(span);
}

function matcher(rule: SamplingRule): (span: Sampled) => boolean {
  const values = rule.attributeValues && new Set(rule.attributeValues.values);
  const valuesKey = rule.attributeValues?.key ?? '';
  const patterns = rule.attributePatterns && patternMatcher(rule.attributePatterns);
  const patternsKey = rule.attributePatterns?.key ?? '';
  return (span) =>
    (rule.spanKinds?.includes(span.kind) ?? true) &&
    (rule.parents?.includes(span.upstreamFlags === undefined ? 'none' : 'remote') ?? true) &&
    (values === undefined || textMatches(span, valuesKey, (text) => values.has(text))) &&
    (patterns === undefined || textMatches(span, patternsKey, patterns));
}

/** Rules compare values as text, such as `true` or `3`. A span without the attribute does not match. */
function textMatches(span: Sampled, key: string, matches: (text: string) => boolean): boolean {
  const value = span.attribute(key);
  return value !== undefined && matches(String(value));
}

function patternMatcher({ included, excluded }: NonNullable<SamplingRule['attributePatterns']>) {
  const wanted = included?.map((pattern) => wildcard(pattern));
  const unwanted = excluded.map((pattern) => wildcard(pattern));
  return (text: string): boolean =>
    (wanted?.some((matches) => matches(text)) ?? true) && !unwanted.some((matches) => matches(text));
}
