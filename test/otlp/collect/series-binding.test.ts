/** Measurements through a bound series equal those with its attributes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '@opentelemetry/api';
import { KINDS_OF_STREAM, STREAMS } from './collected-stream.ts';

const frozen = (worker: string): Attributes => Object.freeze({ worker });

for (const kind of KINDS_OF_STREAM) {
  const make = STREAMS[kind];

  test(`${kind}: a bound series is the one of its attributes, and not looked up again`, () => {
    let reads = 0;
    const watched = new Proxy(Object.freeze({ worker: 'w1' }), {
      ownKeys(target) {
        reads += 1;
        return Reflect.ownKeys(target);
      },
    });
    const { bind, measure, read } = make();
    const [one, none] = [bind(watched), bind()];
    one(1);
    const readsOfFirst = reads;
    for (let index = 0; index < 9; index += 1) one(1);
    assert.equal(reads, readsOfFirst);
    measure(1, { worker: 'w1' });
    none(2);
    measure(3);
    assert.deepEqual(read(), [
      [{ worker: 'w1' }, 11],
      [{}, 5],
    ]);
  });

  test(`${kind}: it begins with its first measurement, not when it is bound`, () => {
    let nowMs = 1000;
    const { bind, collect } = make({ nowMs: () => nowMs });
    const bound = bind(frozen('w1'));
    assert.deepEqual(collect(1500), []);
    nowMs = 2000;
    bound(1);
    assert.deepEqual(collect(3000), [{ attributes: { worker: 'w1' }, total: 1, startMs: 2000, endMs: 3000 }]);
  });

  test(`${kind}: later changes of the attributes object have no effect`, () => {
    const { bind, read } = make();
    const attributes: Attributes = { worker: 'w1' };
    const bound = bind(attributes);
    attributes['worker'] = 'w2';
    bound(1);
    assert.deepEqual(read(), [[{ worker: 'w1' }, 1]]);
  });

  test(`${kind}: an invalid value is dropped and reported`, () => {
    const { bind, read, tally } = make();
    const bound = bind(frozen('w1'));
    for (const value of [Number.NaN, Infinity, -Infinity, -1]) bound(value);
    assert.deepEqual(read(), []);
    assert.equal(tally().refused, 4);
  });
}
