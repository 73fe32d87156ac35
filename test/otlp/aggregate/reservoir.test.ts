/** Which exemplars of a series are kept: few, the last of each bucket, and of those the highest. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Aggregation } from '../../../src/otlp/aggregate/aggregation.ts';
import { explicitBuckets } from '../../../src/otlp/aggregate/explicit-buckets.ts';
import { exponentialBuckets } from '../../../src/otlp/aggregate/exponential-buckets.ts';
import { EXEMPLARS_MAX, type Exemplar, type Reservoir } from '../../../src/otlp/aggregate/reservoir.ts';
import { MONOTONIC_SUM } from '../../../src/otlp/aggregate/sum.ts';
import { fc } from '../../seed.ts';

const CONTEXT = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: {} };
const BOUNDS = [1, 2, 3, 4, 5, 6, 7, 8];

function offered(reservoir: Reservoir, values: readonly number[]): readonly Exemplar[] {
  return values.map((value, index) => {
    const exemplar = { value, timeMs: index, context: CONTEXT };
    reservoir.offer(exemplar);
    return exemplar;
  });
}

/** In all buckets, and on their bounds. */
const eighths = fc.nat(80).map((each) => each / 8);
const values = fc.array(eighths, { maxLength: 40, size: 'max' });
/** As of a histogram: bounds are inclusive. */
const bucketOf = (value: number): number => BOUNDS.filter((bound) => bound < value).length;

test('with explicit buckets the last of each is kept, and of more than there is room for the highest', () => {
  fc.assert(
    fc.property(values, (all) => {
      const reservoir = explicitBuckets(BOUNDS).beginExemplars();
      const exemplars = offered(reservoir, all);
      const last = new Map(exemplars.map((exemplar) => [bucketOf(exemplar.value), exemplar]));
      const expected = [...last].sort(([one], [other]) => one - other).slice(-EXEMPLARS_MAX);
      assert.deepEqual(
        reservoir.all,
        expected.map(([, exemplar]) => exemplar),
      );
    }),
  );
});

const WITHOUT_BUCKETS: Readonly<Record<string, Pick<Aggregation<never>, 'beginExemplars'>>> = {
  counter: MONOTONIC_SUM,
  'exponential histogram': exponentialBuckets(),
};

for (const [kind, aggregation] of Object.entries(WITHOUT_BUCKETS)) {
  test(`${kind}: the last ones are kept, in their order`, () => {
    fc.assert(
      fc.property(values, (all) => {
        const reservoir = aggregation.beginExemplars();
        const exemplars = offered(reservoir, all);
        assert.deepEqual(reservoir.all, exemplars.slice(-EXEMPLARS_MAX));
      }),
    );
  });
}

test('what was exported leaves, but not what has taken its place in the meantime', () => {
  const reservoir = explicitBuckets(BOUNDS).beginExemplars();
  offered(reservoir, [0.5, 1.5]);
  const exported = reservoir.all;
  const [later] = offered(reservoir, [0.7]);
  assert.equal(exported.length, 2, 'as it was collected');
  reservoir.remove(exported);
  assert.deepEqual(reservoir.all, [later]);
});
