/** Which spans are kept, and by which probability they say so. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FinishedRun } from '../../src/tracer/ancestry/finished.ts';
import { keeps, thresholdOf } from '../../src/tracer/threshold.ts';
import type { Sampler, SamplingRule, TraceSettings } from '../../src/tracer/trace-settings.ts';
import { lone, run, sent, tracer } from './finished-facts.ts';

const ON: Sampler = { kind: 'always_on' };
const OFF: Sampler = { kind: 'always_off' };
/** R = 467adb16d15d7d. */
const TRACE_ID = '90817c7f6c284fe5aa467adb16d15d7d';
const ROOT = `00-${TRACE_ID}-b7ad6b7169203331`;

/** The trace state of a run; undefined if it is dropped. */
function stateOf(sampler: Sampler, of: Partial<FinishedRun> = {}, settings: Partial<TraceSettings> = {}) {
  return tracer({ sampler, ...settings })
    .trace(run(of))
    .spans.at(-1)?.traceState;
}

function isKeptBy(rule: Omit<SamplingRule, 'sampler'>, of: Partial<FinishedRun> = {}, join = true): boolean {
  const sampler: Sampler = { kind: 'rule_based', rules: [{ ...rule, sampler: ON }] };
  return tracer({ sampler, join, slowAfterMs: 100 }).trace(run(of)).isKept;
}

describe('thresholds', () => {
  test('as the Collector has them', () => {
    const expected: readonly (readonly [number, string, string])[] = [
      [1, '00000000000000', 'ot=th:0'],
      [2, '00000000000000', 'ot=th:0'],
      [0.5, '80000000000000', 'ot=th:8'],
      [0.25, 'c0000000000000', 'ot=th:c'],
      [0.1, 'e6660000000000', 'ot=th:e666'],
      [0.9, '199a0000000000', 'ot=th:199a'],
      [0.05, 'f3333000000000', 'ot=th:f3333'],
      [0.01, 'fd70a000000000', 'ot=th:fd70a'],
      [0.0001, 'fff97240000000', 'ot=th:fff9724'],
      [0.9999, '00068dc0000000', 'ot=th:00068dc'],
      [2 ** -56, 'ffffffffffffff', 'ot=th:ffffffffffffff'],
      [1 - 2 ** -53, '00000000000008', 'ot=th:00000000000008'],
    ];
    for (const [ratio, least, traceState] of expected) {
      assert.deepEqual(thresholdOf(ratio), { least, traceState }, `${ratio}`);
    }
    for (const none of [0, -1, Number.NaN, 2 ** -58]) assert.equal(thresholdOf(none), undefined, `${none}`);
  });

  test('the least kept is the threshold itself', () => {
    const threshold = thresholdOf(0.1);
    assert.ok(threshold);
    assert.ok(keeps(threshold, `${'0'.repeat(18)}e6660000000000`));
    assert.ok(!keeps(threshold, `${'f'.repeat(18)}e665ffffffffff`));
  });
});

test('on, off and by probability', () => {
  assert.equal(stateOf(ON), 'ot=th:0');
  assert.equal(stateOf(OFF), undefined);
  assert.equal(stateOf({ kind: 'probability', ratio: 0.1 }), undefined);
  assert.equal(stateOf({ kind: 'probability', ratio: 0.75 }), 'ot=th:4');
});

describe('parents', () => {
  const sampled = { rootId: `${ROOT}-01` };
  const notSampled = { rootId: `${ROOT}-00` };
  const basedOn = (remoteSampled: Sampler, remoteNotSampled: Sampler): Sampler => {
    return {
      kind: 'parent_based',
      root: { kind: 'probability', ratio: 0.75 },
      remoteSampled,
      remoteNotSampled,
    };
  };

  test('a flag decides; how probable it was is not known', () => {
    for (const sampler of [basedOn(ON, OFF), { kind: 'parent_threshold', root: ON }] as const) {
      assert.equal(stateOf(sampler, sampled, { join: true }), '');
      assert.equal(stateOf(sampler, notSampled, { join: true }), undefined);
    }
  });

  test('each flag has a sampler of its own', () => {
    assert.equal(stateOf(basedOn(OFF, ON), sampled, { join: true }), undefined);
    assert.equal(stateOf(basedOn(OFF, ON), notSampled, { join: true }), '');
    const half: Sampler = { kind: 'probability', ratio: 0.5 };
    assert.equal(stateOf(basedOn(half, ON), sampled, { join: true }), undefined);
    assert.equal(stateOf(basedOn({ ...half, ratio: 0.75 }, ON), sampled, { join: true }), '');
  });

  test('a task has no other parent: a root sampler decides, of children too', () => {
    for (const given of [{}, { parentId: 'p' }, notSampled]) {
      assert.equal(stateOf({ kind: 'parent_threshold', root: ON }, given), 'ot=th:0');
    }
    assert.equal(stateOf(basedOn(OFF, OFF), {}), 'ot=th:4');
  });

  test('a child in a joined trace follows the flag too', () => {
    const child = { ...notSampled, parentId: 'p' };
    assert.equal(stateOf({ kind: 'parent_threshold', root: ON }, child, { join: true }), undefined);
  });
});

describe('rules', () => {
  test('the first that matches decides; without one it is dropped', () => {
    const rules: readonly SamplingRule[] = [
      { attributeValues: { key: 'celery.task.outcome', values: ['failed', 'lost'] }, sampler: ON },
      { attributeValues: { key: 'celery.task.outcome', values: ['failed'] }, sampler: OFF },
      { attributePatterns: { key: 'celery.task.name', included: ['shop.*'], excluded: [] }, sampler: OFF },
    ];
    const sampler: Sampler = { kind: 'rule_based', rules };
    assert.equal(stateOf(sampler, { outcome: 'failed' }), 'ot=th:0');
    assert.equal(stateOf(sampler), undefined);
    assert.equal(stateOf({ kind: 'rule_based', rules: [] }), undefined);
  });

  test('values are compared as text', () => {
    const is = (key: string, value: string, of: Partial<FinishedRun> = {}) =>
      isKeptBy({ attributeValues: { key, values: [value] } }, of);
    assert.ok(is('celery.task.retries', '3', { retries: 3 }));
    assert.ok(is('celery.task.slow', 'true'));
    assert.ok(!is('celery.task.slow', 'true', { endedMs: 0 }));
    assert.ok(is('messaging.system', 'rabbitmq'));
    assert.ok(is('server.port', '5672'));
    assert.ok(!is('celery.task.retries', 'undefined'));
    assert.ok(!is('messaging.client.id', 'gen1@web', { sent: sent() }));
    for (const key of ['__proto__', 'constructor', 'toString', 'no.such'])
      assert.ok(!is(key, 'undefined'), key);
  });

  test('patterns: what is excluded wins, what is missing does not match', () => {
    const key = 'celery.task.name';
    assert.ok(isKeptBy({ attributePatterns: { key, included: ['*.charg?'], excluded: [] } }));
    assert.ok(!isKeptBy({ attributePatterns: { key, included: ['*.charg?'], excluded: ['shop.*'] } }));
    assert.ok(isKeptBy({ attributePatterns: { key, included: undefined, excluded: ['x'] } }));
    assert.ok(!isKeptBy({ attributePatterns: { key, included: [], excluded: [] } }));
    assert.ok(!isKeptBy({ attributePatterns: { key: 'error.type', included: undefined, excluded: [] } }));
  });

  test('kinds and parents', () => {
    assert.ok(isKeptBy({ spanKinds: ['consumer'] }));
    assert.ok(!isKeptBy({ spanKinds: ['producer', 'internal'] }));
    assert.ok(isKeptBy({ parents: ['none'] }));
    assert.ok(!isKeptBy({ parents: ['remote', 'local'] }));
    assert.ok(isKeptBy({ parents: ['remote'] }, { rootId: `${ROOT}-00` }));
    assert.ok(!isKeptBy({ parents: ['remote'] }, { rootId: `${ROOT}-00` }, false));
  });

  test('all conditions of a rule must hold', () => {
    const rule = {
      attributeValues: { key: 'celery.task.outcome', values: ['failed'] },
      spanKinds: ['consumer'],
    } as const;
    assert.ok(isKeptBy(rule, { outcome: 'failed' }));
    assert.ok(!isKeptBy({ ...rule, parents: ['remote'] }, { outcome: 'failed' }));
    assert.ok(!isKeptBy({ ...rule, spanKinds: ['producer'] }, { outcome: 'failed' }));
  });
});

test('a sending shares the decision about its run', () => {
  const onlyConsumers: Sampler = { kind: 'rule_based', rules: [{ spanKinds: ['consumer'], sampler: ON }] };
  const made = tracer({ sampler: onlyConsumers });
  assert.equal(made.trace(run({ sent: sent() })).spans.length, 2);
  assert.equal(made.trace(lone()).isKept, false);
  assert.equal(tracer({ sampler: OFF }).trace(run({ sent: sent() })).spans.length, 0);
});
