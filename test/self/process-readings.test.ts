import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ProcessReading } from '../../src/meter/self-readings.ts';
import { type ProcessWatch, watchProcess } from '../../src/self/process-readings.ts';

function watch(t: TestContext): ProcessWatch {
  const watched = watchProcess();
  t.after(() => watched.close());
  return watched;
}

function blockMs(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** The first reading with samples of the event loop. */
async function sampled(watched: ProcessWatch): Promise<NonNullable<ProcessReading['eventLoopDelayS']>> {
  for (;;) {
    const { eventLoopDelayS } = watched.read();
    if (eventLoopDelayS !== undefined) return eventLoopDelayS;
    await delay(1);
  }
}

test('CPU time counts from the start of the watch and grows with work', (t) => {
  blockMs(50);
  const watched = watch(t);
  const before = watched.read();
  const spentS = (reading: ProcessReading) => reading.cpuS.user + reading.cpuS.system;
  assert.ok(spentS(before) < 0.05, `${spentS(before)} s`);
  const begun = process.cpuUsage();
  blockMs(100);
  const { user, system } = process.cpuUsage(begun);
  const after = watched.read();
  const grownS = spentS(after) - spentS(before);
  assert.ok(grownS >= (user + system) / 1e6, `${grownS} s`);
  assert.ok(after.uptimeS - before.uptimeS >= 0.1 && after.uptimeS < 60, `${after.uptimeS} s`);
});

test('memory is in bytes, and its parts do not exceed the total', (t) => {
  const { rss, heap_total, heap_used } = watch(t).read().memoryBytes;
  assert.ok(rss > 1e6 && rss < 1e11, `${rss}`);
  assert.ok(heap_used > 0 && heap_used <= heap_total && heap_used < rss, `${heap_used} of ${heap_total}`);
});

test('an event loop delay is in the next reading only', async (t) => {
  const watched = watch(t);
  await sampled(watched);
  // During a collection, for example, which begins with a reading and takes a while.
  blockMs(500);
  const held = await sampled(watched);
  assert.ok(held.max >= 0.44 && held.max < 30, `${held.max} s`);
  assert.ok(held.p99 <= held.max && held.mean <= held.max && held.mean > 0);
  const rest = await sampled(watched);
  assert.ok(rest.max < held.max, `${rest.max} s after ${held.max} s`);
});

test('there is no event loop delay before the first sample or after the end', async (t) => {
  const watched = watch(t);
  assert.equal(watched.read().eventLoopDelayS, undefined);
  await sampled(watched);
  watched.close();
  watched.read();
  const other = watch(t);
  await sampled(other);
  assert.equal(watched.read().eventLoopDelayS, undefined);
});

test('each watch has a new random UUID', (t) => {
  const [one, other] = [watch(t).instanceId, watch(t).instanceId];
  assert.match(one, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u);
  assert.notEqual(one, other);
});

test('a watch keeps no process alive', async () => {
  const url = new URL('../../src/self/process-readings.ts', import.meta.url);
  const script = `import { watchProcess } from ${JSON.stringify(url.href)}; watchProcess(); console.log('watched');`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', script],
    { timeout: 10_000 },
  );
  assert.equal(stdout, 'watched\n');
});
