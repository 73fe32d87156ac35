import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExportRequest } from '../../../src/otlp/export/export-request.ts';
import { createWarmUp } from '../../../src/otlp/export/warm-up.ts';
import { FakeSource } from './scripted-exporter.ts';

/** One request of a source, which is told what is made of it. */
async function requestOf(
  items: number,
): Promise<{ request: ExportRequest<string>; reported: readonly string[] }> {
  const source = new FakeSource('shop', [items]);
  const [request] = await source.collect();
  assert.ok(request !== undefined);
  return { request, reported: source.reported };
}

const parts = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, part) => `built 0/${part}`);

test('1000 items of large requests are serialised, in parts of 50, and then no more', async () => {
  const warmUp = createWarmUp(String);
  const [first, second, third] = [await requestOf(600), await requestOf(1000), await requestOf(1000)];
  await warmUp(first.request);
  assert.deepEqual(first.reported, parts(12));
  await warmUp(second.request);
  assert.deepEqual(second.reported, parts(8));
  await warmUp(third.request);
  assert.deepEqual(third.reported, []);
});

test('each part has its own event loop turn, even if several requests wait for each other', async () => {
  const warmUp = createWarmUp(String);
  const all = await Promise.all([requestOf(300), requestOf(400), requestOf(1000), requestOf(1000)]);
  const built = () => all.reduce((sum, { reported }) => sum + reported.length, 0);
  let isOver = false;
  const warm = Promise.all(all.map(({ request }) => warmUp(request))).then(() => {
    isOver = true;
  });
  let before = 0;
  while (!isOver) {
    await nextTurn();
    assert.ok(built() <= before + 1, `${built() - before} in one turn`);
    before = built();
  }
  await warm;
  assert.deepEqual(
    all.map(({ reported }) => reported.length),
    [6, 8, 6, 0],
  );
});

test('a request that cannot be serialised delays no other', async () => {
  const warmUp = createWarmUp(String);
  const { request } = await requestOf(100);
  const broken: ExportRequest<string> = {
    ...request,
    parts: (itemsMax) =>
      request.parts(itemsMax).map((part) => ({
        ...part,
        data() {
          throw new Error('there is no such metric');
        },
      })),
  };
  await warmUp(broken);
  const { request: next, reported } = await requestOf(1000);
  await warmUp(next);
  assert.equal(reported.length, 18);
});
