/** `tracer_provider.sampler`: what is read, and what is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configOf, mistakesOf } from '../configuration-files.ts';
import { BATCH, withSampler, withSections } from '../signal-files.ts';

const samplerOf = (text: string) => configOf(withSampler(text)).traces?.settings.sampler;

const ON = { kind: 'always_on' } as const;
const OFF = { kind: 'always_off' } as const;
const FOLLOWING = { kind: 'parent_based', root: ON, remoteSampled: ON, remoteNotSampled: OFF } as const;

test('without a sampler, all is kept but what belongs to a trace that is not', () => {
  const { traces } = configOf(withSections(`tracer_provider: { processors: [ ${BATCH} ] }`));
  assert.deepEqual(traces?.settings.sampler, FOLLOWING);
});

test('each sampler of the standard is read, with its defaults', () => {
  const half = { kind: 'probability', ratio: 0.5 } as const;
  const cases: [text: string, sampler: unknown][] = [
    ['{ always_on: }', ON],
    ['{ always_off: {} }', OFF],
    ['{ trace_id_ratio_based: { ratio: 0.5 } }', half],
    ['{ trace_id_ratio_based: }', { ...half, ratio: 1 }],
    ['{ probability/development: { ratio: 0 } }', { ...half, ratio: 0 }],
    ['{ parent_based: }', FOLLOWING],
    [
      '{ parent_based: { root: { trace_id_ratio_based: { ratio: 0.5 } }, remote_parent_sampled: { always_off: }, remote_parent_not_sampled: { parent_based: } } }',
      { kind: 'parent_based', root: half, remoteSampled: OFF, remoteNotSampled: FOLLOWING },
    ],
    ['{ composite/development: { probability: { ratio: 0.5 } } }', half],
    [
      '{ composite/development: { parent_threshold: { root: { always_off: } } } }',
      { kind: 'parent_threshold', root: OFF },
    ],
    [
      '{ composite/development: { rule_based: { rules: [ { span_kinds: [consumer], parent: [none, remote], sampler: { rule_based: { rules: [ { sampler: { always_on: } } ] } } } ] } } }',
      {
        kind: 'rule_based',
        rules: [
          {
            spanKinds: ['consumer'],
            parents: ['none', 'remote'],
            sampler: { kind: 'rule_based', rules: [{ sampler: ON }] },
          },
        ],
      },
    ],
  ];
  for (const [text, sampler] of cases) assert.deepEqual(samplerOf(text), sampler, text);
});

test('a sampler that cannot be is refused, by its path', () => {
  const rules = (rule: string) => `{ composite/development: { rule_based: { rules: [ { ${rule} } ] } } }`;
  const at = 'composite/development.rule_based.rules[0].';
  const sampler = 'sampler: { always_on: }';
  const cases: [text: string, mistake: RegExp | string][] = [
    ['{ }', ' (f:4): expected exactly one of always_on, always_off, trace_id_ratio_based, '],
    ['{ always_on: , always_off: }', ' (f:4): expected exactly one of always_on, '],
    [
      '{ jaeger_remote/development: { endpoint: "http://a", initial_sampler: { always_on: } } }',
      '.jaeger_remote/development (f:4): expected no such key: no remote sampler is used',
    ],
    [
      '{ trace_id_ratio_based: { ratio: 1.5 } }',
      '.trace_id_ratio_based.ratio (f:4) is "1.5": expected a number from 0 to 1',
    ],
    [
      '{ parent_based: { local_parent_sampled: { always_on: } } }',
      '.parent_based.local_parent_sampled (f:4): expected no such key: no parent is local',
    ],
    [
      '{ composite/development: { parent_threshold: {} } }',
      '.composite/development.parent_threshold.root (f:4): expected a value: exactly one sampler',
    ],
    [rules('parent: [none]'), `.${at}sampler (f:4): expected a value: exactly one sampler`],
    [
      rules(`parent: [local], ${sampler}`),
      `.${at}parent[0] (f:4) is "local": expected none or remote: no parent`,
    ],
    [
      rules(`span_kinds: [producer], ${sampler}`),
      `.${at}span_kinds[0] (f:4) is "producer": expected consumer: `,
    ],
    [
      rules(`attribute_values: { key: celery.task.outcome, values: [failed, lots] }, ${sampler}`),
      `.${at}attribute_values.values[1] (f:4) is "lots": expected one of succeeded, failed, `,
    ],
    [
      rules(`attribute_values: { key: celery.task.slow, values: [true] }, ${sampler}`),
      `.${at}attribute_values.values[0] (f:4) is "true": expected text on one line, at most 1024 bytes, in quotes`,
    ],
  ];
  for (const [text, mistake] of cases) {
    const mistakes = mistakesOf(withSampler(text));
    assert.ok(
      mistakes.some((line) => line.startsWith(`tracer_provider.sampler${mistake}`)),
      `${text}: ${mistakes.join('\n')}`,
    );
  }
});

test('samplers may be nested deeply', () => {
  const depth = 200;
  const text = `{ composite/development: ${'{ parent_threshold: { root: '.repeat(depth)}{ always_on: }${' } }'.repeat(depth)} }`;
  assert.equal(samplerOf(text)?.kind, 'parent_threshold');
});
