/** How long a pipeline takes to close beyond its deadline. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../bound.ts';
import { count, pipelineTo, receiver, silentUrl } from './pipeline-to.ts';

const GONE_MS_MAX = 15_000;
const HELD_MS_MAX = 8000;

test('a backend that is gone, or never responds, delays nothing beyond the deadline', async (t) => {
  for (const [what, url] of [
    ['is gone', 'http://127.0.0.1:1'],
    ['never responds', await silentUrl(t)],
  ] as const) {
    const { pipeline, open } = pipelineTo(t, url, {
      exporter: { timeoutMs: 30_000 },
      schedule: { timeoutMs: 30_000 },
    });
    const groups = [[open('shop'), open('billing')], [open('celery-otel')]];
    for (const provider of groups.flat()) count(provider, 1);
    const startedMs = performance.now();
    const unsent = await pipeline.close(groups, 500);
    const tookMs = performance.now() - startedMs;
    assert.equal(unsent.size, 3, url);
    bound(t, `closing within 500 ms while the backend ${what}`, tookMs, GONE_MS_MAX, 'ms');
  }
});

test('an export that never ends is not awaited beyond the deadline', async (t) => {
  const asked = Promise.withResolvers<void>();
  const sink = await receiver(t, {
    hold() {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const { pipeline, open } = pipelineTo(t, sink.url, { schedule: { intervalMs: 20 } });
  const shop = open('shop');
  count(shop, 1);
  pipeline.start();
  await asked.promise;
  const startedMs = performance.now();
  assert.deepEqual(await pipeline.close([[shop]], 300), new Set(['shop']));
  bound(t, 'closing within 300 ms during an export', performance.now() - startedMs, HELD_MS_MAX, 'ms');
});
