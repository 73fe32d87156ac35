/** What is read of the process that the bridge runs in. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ProcessReading } from '../../src/meter/self-readings.ts';
import type { ProcessWatch } from '../../src/self/process-readings.ts';
import { DEADLINE_MS } from '../deadline.ts';
import { blockMs, watch } from './watched-process.ts';

/** The first reading with samples of the event loop. */
async function sampled(watched: ProcessWatch): Promise<NonNullable<ProcessReading['eventLoopDelayS']>> {
  for (;;) {
    const { eventLoopDelayS } = watched.read();
    if (eventLoopDelayS !== undefined) return eventLoopDelayS;
    await delay(1);
  }
}

test('CPU time is that since the start of the watch, in seconds', (t) => {
  const spentUs = { user: 3_000_000, system: 500_000 };
  t.mock.method(process, 'cpuUsage', (before?: NodeJS.CpuUsage) => ({
    user: spentUs.user - (before?.user ?? 0),
    system: spentUs.system - (before?.system ?? 0),
  }));
  const watched = watch(t);
  assert.deepEqual(watched.read().cpuS, { user: 0, system: 0 });
  spentUs.user += 250_000;
  spentUs.system += 1_000_000;
  assert.deepEqual(watched.read().cpuS, { user: 0.25, system: 1 });
});

test('the uptime is that since the start of the watch, in seconds', (t) => {
  let nowMs = 5000;
  t.mock.method(performance, 'now', () => nowMs);
  const watched = watch(t);
  nowMs += 1500;
  assert.equal(watched.read().uptimeS, 1.5);
});

test('memory is in bytes, as the process reports it', (t) => {
  const reported = { rss: 50, heapTotal: 30, heapUsed: 20, external: 10, arrayBuffers: 5 };
  t.mock.method(process, 'memoryUsage', () => reported);
  const { memoryBytes } = watch(t).read();
  assert.deepEqual(memoryBytes, { rss: 50, heap_total: 30, heap_used: 20, external: 10 });
});

test('memory that cannot be read is not known, and all else is', (t) => {
  t.mock.method(process, 'memoryUsage', () => {
    throw new Error('EMFILE: too many open files, uv_resident_set_memory');
  });
  const { memoryBytes, cpuS } = watch(t).read();
  assert.equal(memoryBytes, undefined);
  assert.ok(cpuS.user >= 0);
});

test('an event loop delay is in the next reading only', async (t) => {
  const watched = watch(t);
  await sampled(watched);
  // During a collection, for example, which begins with a reading and takes a while.
  blockMs(500);
  const held = await sampled(watched);
  assert.ok(held.max >= 0.44, `${held.max} s`);
  assert.ok(held.p99 <= held.max && held.mean <= held.max && held.mean > 0);
  assert.equal(watched.read().eventLoopDelayS, undefined);
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
    { timeout: DEADLINE_MS },
  );
  assert.equal(stdout, 'watched\n');
});
