import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Attributes, BatchObservableCallback } from '@opentelemetry/api';
import { ObservableCallbacks } from '../../../src/otlp/collect/observable-callbacks.ts';
import { collectGarbage } from './memory.ts';

type Said = readonly [observable: string, value: number, attributes: Attributes | undefined];

function observing() {
  const callbacks = new ObservableCallbacks();
  let said: Said[] = [];
  return {
    callbacks,
    observable: (name: string) =>
      callbacks.observable((value, attributes) => said.push([name, value, attributes])),
    /** What is said when all are asked, and how those failed that did. */
    async ask() {
      said = [];
      const failures = await callbacks.ask();
      return { said, failures };
    },
  };
}

test('each callback is called for its own observables', async () => {
  const { observable, ask } = observing();
  const [one, other] = [observable('one'), observable('other')];
  one.addCallback((result) => result.observe(1, { worker: 'w1' }));
  other.addCallback((result) => {
    result.observe(2);
    result.observe(3, { worker: 'w2' });
  });
  assert.deepEqual(await ask(), {
    said: [
      ['one', 1, { worker: 'w1' }],
      ['other', 2, undefined],
      ['other', 3, { worker: 'w2' }],
    ],
    failures: [],
  });
});

test('a callback of several observables is called for each, and once for each', async () => {
  const { observable, ask } = observing();
  let asked = 0;
  const callback = (result: { observe: (value: number) => void }): void => {
    asked += 1;
    result.observe(asked);
  };
  const [one, other] = [observable('one'), observable('other')];
  for (const each of [one, other, one]) each.addCallback(callback);
  assert.deepEqual((await ask()).said, [
    ['one', 1, undefined],
    ['other', 2, undefined],
  ]);
  one.removeCallback(callback);
  assert.deepEqual((await ask()).said, [['other', 3, undefined]]);
  other.removeCallback(callback);
  assert.deepEqual((await ask()).said, []);
  one.removeCallback(callback);
});

test('a batch callback may only observe its registered observables', async () => {
  const { callbacks, observable, ask } = observing();
  const strangers = observing();
  const [one, other, third] = [observable('one'), observable('other'), observable('third')];
  const stranger = strangers.observable('stranger');
  callbacks.addBatch(
    (result) => {
      for (const each of [one, other, third, stranger]) result.observe(each, 1, { worker: 'w1' });
    },
    [one, third, stranger],
  );
  assert.deepEqual((await ask()).said, [
    ['one', 1, { worker: 'w1' }],
    ['third', 1, { worker: 'w1' }],
  ]);
  assert.ok(callbacks.has(one) && !callbacks.has(stranger));
});

test('a batch callback is registered once for the same observables in any order, and separately for others', async () => {
  const { callbacks, observable, ask } = observing();
  const [one, other] = [observable('one'), observable('other')];
  const callback: BatchObservableCallback = (result) => {
    for (const each of [one, other]) result.observe(each, 1);
  };
  const names = async () => (await ask()).said.map(([name]) => name);
  callbacks.addBatch(callback, [one, other]);
  callbacks.addBatch(callback, [other, one]);
  assert.deepEqual(await names(), ['one', 'other']);
  callbacks.addBatch(callback, [one]);
  assert.deepEqual(await names(), ['one', 'other', 'one']);
  callbacks.removeBatch(() => {}, [one]);
  callbacks.removeBatch(callback, [other]);
  assert.deepEqual(await names(), ['one', 'other', 'one'], 'there was no such registration');
  callbacks.removeBatch(callback, [other, one]);
  assert.deepEqual(await names(), ['one']);
  callbacks.removeBatch(callback, [one]);
  assert.deepEqual(await names(), []);
});

test('a failing callback is reported, does not affect others, and its earlier observations count', async () => {
  const { callbacks, observable, ask } = observing();
  const one = observable('one');
  const failures = ['single', 'single, later', 'batch', 'batch, later'].map((name) => new Error(name));
  const [single, singleLater, batch, batchLater] = failures;
  one.addCallback((result) => {
    result.observe(1);
    throw single;
  });
  one.addCallback(async () => {
    await nextTurn();
    throw singleLater;
  });
  callbacks.addBatch(() => {
    throw batch;
  }, [one]);
  callbacks.addBatch(async () => {
    await nextTurn();
    throw batchLater;
  }, [one]);
  one.addCallback((result) => result.observe(2));
  callbacks.addBatch((result) => result.observe(one, 3), [one]);
  const answer = await ask();
  assert.deepEqual(
    new Set(answer.said.map(([, value]) => value)),
    new Set([1, 2, 3]),
    'whoever came before and after',
  );
  assert.deepEqual(new Set(answer.failures), new Set(failures));
  assert.equal((await ask()).failures.length, 4, 'they are asked again');
});

test('an asynchronous callback is awaited', async () => {
  const { observable, ask } = observing();
  observable('one').addCallback(async (result) => {
    await nextTurn();
    result.observe(1);
  });
  assert.deepEqual((await ask()).said, [['one', 1, undefined]]);
});

test('callbacks can be added and removed during a collection', async () => {
  const { callbacks, observable, ask } = observing();
  const one = observable('one');
  const added: BatchObservableCallback = (result) => result.observe(one, 2);
  const adding: BatchObservableCallback = (result) => {
    result.observe(one, 1);
    callbacks.removeBatch(adding, [one]);
    callbacks.addBatch(added, [one]);
  };
  callbacks.addBatch(adding, [one]);
  one.addCallback((result) => result.observe(3));
  assert.deepEqual(
    (await ask()).said.map(([, value]) => value),
    [1, 3],
  );
  assert.deepEqual(
    (await ask()).said.map(([, value]) => value),
    [2, 3],
  );
});

test('a removed callback leaves nothing in memory', async () => {
  const { callbacks, observable } = observing();
  const one = observable('one');
  const gone = (() => {
    const single = (): void => {};
    const batch = (): void => {};
    one.addCallback(single);
    one.removeCallback(single);
    callbacks.addBatch(batch, [one]);
    callbacks.removeBatch(batch, [one]);
    return [new WeakRef(single), new WeakRef(batch)];
  })();
  // What a WeakRef was made of is kept until the turn ends.
  await nextTurn();
  collectGarbage();
  assert.deepEqual(
    gone.map((ref) => ref.deref()),
    [undefined, undefined],
  );
});
