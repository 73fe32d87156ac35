import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExportSource } from '../../../src/otlp/export/export-source.ts';
import { loopOf } from './looping.ts';
import { FakeSource, REFUSED, SUCCESS, UNAVAILABLE } from './scripted-exporter.ts';

const namesOf = (sources: readonly ExportSource<string>[]): readonly string[] =>
  sources.map(({ name }) => name).sort();

/** What it resolves with, once it does. */
function outcomeOf<T>(promise: Promise<T>, nowMs: () => number) {
  const outcome: { value?: T; atMs?: number } = {};
  void promise.then((value) => {
    outcome.value = value;
    outcome.atMs = nowMs();
  });
  return outcome;
}

test('a stop during a wait for a retry ends at once', async (t) => {
  const { start, stop, time, sent } = loopOf(t, { intervalMs: 5000, answer: () => UNAVAILABLE });
  start([new FakeSource('shop')]);
  await time.pass(5500);
  const outcome = outcomeOf(stop(5000), time.nowMs);
  await time.pass(1);
  assert.equal(outcome.value, true);
  await time.pass(7000);
  assert.equal(sent.length, 1);
});

test('a stop during an export waits for the requests in flight, and starts no other', async (t) => {
  const { start, stop, time, sent, outcomes } = loopOf(t, {
    async answer() {
      await delay(700);
      return SUCCESS;
    },
  });
  start(['a', 'b', 'c', 'd', 'e'].map((name) => new FakeSource(name, [1, 1])));
  await time.pass(1100);
  assert.equal(sent.length, 4);
  const outcome = outcomeOf(stop(5000), time.nowMs);
  await time.pass(3000);
  assert.deepEqual(outcome, { value: true, atMs: 1700 });
  assert.equal(sent.length, 4);
  assert.deepEqual(
    outcomes.toSorted(),
    ['a', 'b', 'c', 'd'].map((name) => `${name} success`),
    'what arrived is reported, and the rest is left to the flush',
  );
});

test('a flush retries only failed exports, after 100, 200, 400 … ms', async (t) => {
  let failing = 4;
  const { flush, time, sent } = loopOf(t, {
    intervalMs: 60_000,
    answer(request) {
      if (request !== 'b 0') return SUCCESS;
      failing -= 1;
      return failing < 0 ? SUCCESS : REFUSED;
    },
  });
  const outcome = outcomeOf(flush([new FakeSource('a'), new FakeSource('b')], 5000), time.nowMs);
  await time.pass(5000);
  assert.deepEqual(outcome.value, []);
  assert.deepEqual(
    sent.map(([atMs, request]) => `${Math.round(atMs)} ${request}`),
    ['0 a 0', '0 b 0', '100 b 0', '300 b 0', '700 b 0', '1500 b 0'],
  );
});

test('sources that cannot be flushed are reported by the deadline', async (t) => {
  const { flush, time, sent } = loopOf(t, {
    intervalMs: 60_000,
    answer: (request) => (request === 'a 0' ? SUCCESS : UNAVAILABLE),
  });
  const sources = ['a', 'b', 'c'].map((name) => new FakeSource(name));
  const outcome = outcomeOf(flush(sources, 1000), time.nowMs);
  await time.passUntil(() => outcome.value !== undefined, 1000);
  assert.deepEqual(namesOf(outcome.value ?? []), ['b', 'c']);
  assert.ok((outcome.atMs ?? Infinity) <= 702, 'the next attempt would come too late');
  assert.equal(sent.filter(([, request]) => request === 'b 0').length, 4, 'at 0, 100, 300 and 700');
  await time.pass(5000);
  assert.equal(sent.length, 9);
});

test('a source that hangs at the stop is not flushed, and the others are', async (t) => {
  const { start, stop, flush, time } = loopOf(t, {
    answer: (request) => (request === 'hanging 0' ? new Promise(() => {}) : SUCCESS),
  });
  const sources = ['hanging', 'shop'].map((name) => new FakeSource(name));
  start(sources);
  await time.pass(1000);
  const stopped = outcomeOf(stop(500), time.nowMs);
  await time.passUntil(() => stopped.value !== undefined, 501);
  assert.equal(stopped.value, false);
  const flushed = outcomeOf(flush(sources, 500), time.nowMs);
  await time.passUntil(() => flushed.value !== undefined, 501);
  assert.deepEqual(namesOf(flushed.value ?? []), ['hanging']);
});

test('without a deadline slow exports are awaited', async (t) => {
  const slow = Promise.withResolvers<typeof SUCCESS>();
  const { flush, stop, time } = loopOf(t, { answer: () => slow.promise });
  assert.equal(await stop(Infinity), true);
  const outcome = outcomeOf(flush([new FakeSource('shop')], Infinity), time.nowMs);
  await time.pass(60_000);
  assert.equal(outcome.value, undefined);
  slow.resolve(SUCCESS);
  await time.passUntil(() => outcome.value !== undefined, 10);
  assert.deepEqual(outcome.value, []);
});

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** Starts a loop in a process of its own, and what else is said there. */
async function exitCodeOf(rest: string): Promise<unknown> {
  const program = `
    import { createExportLoop } from './src/otlp/export/export-loop.ts';
    import { FakeSource } from './test/otlp/export/scripted-exporter.ts';
    const answer = { kind: 'unavailable', reason: 'nobody is at home' };
    const loop = createExportLoop({
      exporter: { export: async () => answer },
      schedule: { intervalMs: 50, timeoutMs: 60000 },
      onExport: () => {},
      onDefect: (_, reason) => { throw reason; },
      random: () => 0,
    });
    const source = new FakeSource('shop');
    loop.start([source]);
    ${rest}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: ROOT,
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: 20_000,
  });
  const [code] = await once(child, 'exit');
  return code;
}

test('a loop keeps no process alive, between two exports or after a failure', async () => {
  assert.equal(await exitCodeOf(''), 0);
  assert.equal(await exitCodeOf('while (source.collections < 3) await new Promise(setImmediate);'), 0);
});

test('a finished stop and flush keep no process alive', async () => {
  assert.equal(await exitCodeOf('await loop.stop(60_000); await loop.flush([], 60_000);'), 0);
});
