/** Lists the settings of a sampler under the standard's names: the leaves of the section `sampler`, with their paths. Pure. */
import type { Sampler } from '../../tracer/trace-settings.ts';
import type { FilePath } from '../file/file-path.ts';

type Leaf = readonly [path: FilePath, value: unknown];

/** @param isWithin whether the sampler is part of a composite sampler */
export function samplerLeaves(at: FilePath, sampler: Sampler, isWithin = false): readonly Leaf[] {
  const composite = isWithin ? at : [...at, 'composite/development'];
  switch (sampler.kind) {
    case 'always_on':
    case 'always_off':
      return [[[...at, sampler.kind], {}]];
    case 'probability':
      return [[[...at, isWithin ? 'probability' : 'probability/development', 'ratio'], sampler.ratio]];
    case 'parent_based': {
      const parts = {
        root: sampler.root,
        remote_parent_sampled: sampler.remoteSampled,
        remote_parent_not_sampled: sampler.remoteNotSampled,
      };
      return Object.entries(parts).flatMap(([key, part]) =>
        samplerLeaves([...at, 'parent_based', key], part, isWithin),
      );
    }
    case 'parent_threshold':
      return samplerLeaves([...composite, 'parent_threshold', 'root'], sampler.root, true);
    case 'rule_based':
      return sampler.rules.flatMap((rule, index) => {
        const path = [...composite, 'rule_based', 'rules', index];
        const { attributeValues: values, attributePatterns: patterns } = rule;
        return [
          ...leaves([...path, 'attribute_values'], { ...values }),
          ...leaves([...path, 'attribute_patterns'], { ...patterns }),
          ...leaves(path, { span_kinds: rule.spanKinds, parent: rule.parents }),
          ...samplerLeaves([...path, 'sampler'], rule.sampler, true),
        ];
      });
  }
}

function leaves(at: FilePath, values: object): readonly Leaf[] {
  return Object.entries(values).map(([key, value]) => [[...at, key], value]);
}
