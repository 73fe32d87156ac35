/** That readings of the real process are plausible. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProcessReading } from '../../src/meter/self-readings.ts';
import { bound } from '../bound.ts';
import { blockMs, watch } from './watched-process.ts';

const spentS = ({ cpuS }: ProcessReading): number => cpuS.user + cpuS.system;

test('CPU time counts from the start of the watch and grows with work', (t) => {
  blockMs(50);
  const watched = watch(t);
  const before = watched.read();
  bound(t, 'CPU time at the start of a watch', spentS(before), 0.05, 's');
  const begun = process.cpuUsage();
  blockMs(100);
  const { user, system } = process.cpuUsage(begun);
  const after = watched.read();
  const grownS = spentS(after) - spentS(before);
  assert.ok(grownS >= (user + system) / 1e6, `${grownS} s`);
  assert.ok(after.uptimeS - before.uptimeS >= 0.1, `${after.uptimeS} s`);
  bound(t, 'uptime after 100 ms', after.uptimeS, 60, 's');
});

test('the parts of the memory do not exceed the total', (t) => {
  const { memoryBytes } = watch(t).read();
  assert.ok(memoryBytes !== undefined);
  const { rss, heap_total, heap_used } = memoryBytes;
  assert.ok(rss > 1e6, `${rss}`);
  assert.ok(heap_used > 0 && heap_used <= heap_total && heap_used < rss, `${heap_used} of ${heap_total}`);
  bound(t, 'memory of a process that only tests', rss / 1e6, 1e5, 'MB');
});

test('an event loop that is blocked for half a second is not said to be blocked for much longer', async (t) => {
  const watched = watch(t);
  const sampled = async () => {
    for (;;) {
      const { eventLoopDelayS } = watched.read();
      if (eventLoopDelayS !== undefined) return eventLoopDelayS;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await sampled();
  blockMs(500);
  const held = await sampled();
  assert.ok(held.max >= 0.44, `${held.max} s`);
  bound(t, 'event loop delay after a block of 0.5 s', held.max, 30, 's');
  const rest = await sampled();
  bound(t, 'event loop delay in the sample after it', rest.max, held.max, 's');
});
