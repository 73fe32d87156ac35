import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Attributes, BatchObservableCallback } from '@opentelemetry/api';
import { ObservableCallbacks } from '../../../src/otlp/collect/observable-callbacks.ts';

type Said = readonly [observable: string, value: number, attributes: Attributes | undefined];

function observing() {
  const callbacks = new ObservableCallbacks();
  let said: Said[] = [];
  return {
    callbacks,
    observable: (name: string) =>
      callbacks.observable({
        observe: (value, attributes) => said.push([name, value, attributes]),
        end: () => {},
      }),
    /** What is said when all are asked, and how those failed that did. */
    async ask() {
      said = [];
      const failures = await callbacks.callAll();
      return { said, failures };
    },
  };
}

test('an observable of another provider is disregarded', async () => {
  const { callbacks, observable, ask } = observing();
  const [one, stranger] = [observable('one'), observing().observable('stranger')];
  callbacks.add((result) => {
    for (const each of [one, stranger]) result.observe(each, 1);
  });
  assert.deepEqual((await ask()).said, [['one', 1, undefined]]);
});

test('a callback is registered once, however often it is added, until it is removed', async () => {
  const { callbacks, observable, ask } = observing();
  const one = observable('one');
  const callback: BatchObservableCallback = (result) => result.observe(one, 1);
  callbacks.add(callback);
  callbacks.add(callback);
  callbacks.remove(() => {});
  assert.equal((await ask()).said.length, 1);
  callbacks.remove(callback);
  assert.deepEqual((await ask()).said, []);
});

test('a failing callback is reported, does not affect others, and its earlier observations count', async () => {
  const { callbacks, observable, ask } = observing();
  const one = observable('one');
  const [atOnce, later] = [new Error('at once'), new Error('later')];
  callbacks.add((result) => {
    result.observe(one, 1);
    throw atOnce;
  });
  callbacks.add(async () => {
    await nextTurn();
    throw later;
  });
  callbacks.add((result) => result.observe(one, 2));
  const answer = await ask();
  assert.deepEqual(
    answer.said.map(([, value]) => value),
    [1, 2],
  );
  assert.deepEqual(answer.failures, [atOnce, later]);
  assert.equal((await ask()).failures.length, 2, 'they are asked again');
});

test('an asynchronous callback is awaited', async () => {
  const { callbacks, observable, ask } = observing();
  const one = observable('one');
  callbacks.add(async (result) => {
    await nextTurn();
    result.observe(one, 1);
  });
  assert.deepEqual((await ask()).said, [['one', 1, undefined]]);
});

test('callbacks can be added and removed during a collection', async () => {
  const { callbacks, observable, ask } = observing();
  const one = observable('one');
  const values = async () => (await ask()).said.map(([, value]) => value);
  const adding: BatchObservableCallback = async (result) => {
    result.observe(one, 1);
    await nextTurn();
    callbacks.remove(adding);
    callbacks.add((another) => another.observe(one, 2));
  };
  callbacks.add(adding);
  callbacks.add((result) => result.observe(one, 3));
  assert.deepEqual(await values(), [1, 3]);
  assert.deepEqual(await values(), [3, 2]);
});
