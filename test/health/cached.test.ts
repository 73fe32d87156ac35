/** How often documents are made, by a clock of the test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cached, cachedEach } from '../../src/health/cached.ts';

test('a document is as old as a second, and not older', () => {
  let nowMs = 0;
  let made = 0;
  const document = cached(
    () => {
      made += 1;
      return String(made);
    },
    () => nowMs,
  );
  assert.deepEqual([document(), document()], ['1', '1']);
  nowMs = 999;
  assert.equal(document(), '1');
  nowMs = 1000;
  assert.equal(document(), '2');
});

test('a document of a service that takes long to make is made rarely', async () => {
  let nowMs = 0;
  const made: number[] = [];
  const ends: (() => void)[] = [];
  const service = cachedEach<number>(
    (index) => {
      made.push(index);
      return new Promise((resolve) => ends.push(() => resolve(`service ${index}`)));
    },
    () => nowMs,
  );
  const asked = [service(0), service(0)];
  void service(1);
  nowMs = 500;
  asked.push(service(0));
  ends[0]?.();
  assert.deepEqual(await Promise.all(asked), ['service 0', 'service 0', 'service 0']);
  assert.deepEqual(made, [0, 1], 'one that is being made serves all');
  nowMs = 500 + 20 * 500 - 1;
  await service(0);
  assert.deepEqual(made, [0, 1]);
  nowMs += 1;
  void service(0);
  assert.deepEqual(made, [0, 1, 0]);
});

test('after a pause of the machine, a document of a service is fresh for half a minute at most', async () => {
  let nowMs = 0;
  let made = 0;
  let end: (() => void) | undefined;
  const service = cachedEach(
    () => {
      made += 1;
      return new Promise((resolve) => {
        end = () => resolve('text');
      });
    },
    () => nowMs,
  );
  const asked = service(0);
  nowMs = 3_600_000;
  end?.();
  await asked;
  nowMs += 29_999;
  void service(0);
  assert.equal(made, 1);
  nowMs += 1;
  void service(0);
  assert.equal(made, 2);
});

test('a document of a service that could not be made is made again a second later', async () => {
  let nowMs = 0;
  let made = 0;
  const service = cachedEach(
    () => {
      made += 1;
      return Promise.reject(new Error('no'));
    },
    () => nowMs,
  );
  await assert.rejects(service(0));
  await assert.rejects(service(0));
  assert.equal(made, 1);
  nowMs = 1000;
  await assert.rejects(service(0));
  assert.equal(made, 2);
});
