/** Another instance for the same service is reported when it is there to stay, and when it is gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { InstanceWatch } from '../../src/service/instance-watch.ts';
import { until } from '../until.ts';

test('another instance is reported once it was seen twice, and once it is gone; the count is known while connected', async (t) => {
  const reported: SelfEvent[] = [];
  const watch = new InstanceWatch('shop', (event) => void reported.push(event), 2);
  let others: number | undefined = 0;
  let looks = 0;
  const stop = watch.during({
    receive: () => new Promise(() => {}),
    async instances() {
      looks += 1;
      return others;
    },
  });
  t.after(stop);
  const twice = async () => {
    const target = looks + 3;
    await until(
      'three looks',
      () => looks >= target,
      () => looks,
    );
  };
  await twice();
  assert.deepEqual([watch.count, reported], [1, []]);
  others = 1;
  await twice();
  assert.equal(watch.count, 2);
  others = undefined;
  await twice();
  assert.equal(watch.count, undefined);
  others = 0;
  await twice();
  assert.deepEqual(
    reported.map((event) => event.kind === 'instances-changed' && event.count),
    [2, 1],
  );
  stop();
  assert.equal(watch.count, undefined);
});

test('a recording has no instances', () => {
  const watch = new InstanceWatch('shop', () => assert.fail('reported'), 2);
  watch.during({ receive: () => new Promise(() => {}) })();
  assert.equal(watch.count, undefined);
});
