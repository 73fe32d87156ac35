import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExportCycleOptions, exportCycle } from '../../../src/otlp/export/export-cycle.ts';
import type { ExportSource } from '../../../src/otlp/export/export-source.ts';
import { BrokenSource, FakeSource, ScriptedExporter, SUCCESS, UNAVAILABLE } from './scripted-exporter.ts';

const sourcesOf = (count: number, items?: readonly number[]): readonly FakeSource[] =>
  Array.from({ length: count }, (_, index) => new FakeSource(`s${index}`, items));

const namesOf = (sources: readonly ExportSource<string>[]): readonly string[] =>
  sources.map(({ name }) => name).sort();

async function runCycle(
  sources: readonly ExportSource<string>[],
  exporter: ExportCycleOptions<string>['exporter'],
  untilMs = () => Infinity,
) {
  const reported: string[] = [];
  const reasons = new Map<string, string>();
  const defects: unknown[] = [];
  const failed = await exportCycle(sources, {
    exporter,
    onExport({ name }, { outcome, reason }) {
      reported.push(`${name} ${outcome}`);
      reasons.set(name, reason);
    },
    onDefect: ({ name }, reason) => defects.push([name, reason]),
    mustStop: () =>
      performance.now() < untilMs() ? undefined : { kind: 'given-up', reason: 'the time of it is over' },
  });
  return { reported: reported.sort(), reasons, defects, failed: namesOf(failed) };
}

test('at most four requests are in flight', async () => {
  const exporter = new ScriptedExporter(async () => {
    await nextTurn();
    return SUCCESS;
  });
  await runCycle(sourcesOf(20, [1, 1, 1]), exporter);
  assert.equal(exporter.sent.length, 60);
  assert.equal(exporter.mostAtOnce, 4);
});

test('once the backend is unavailable, only requests in flight finish, and the other sources are reported so', async () => {
  const sources = sourcesOf(100, [1, 1]);
  const exporter = new ScriptedExporter(() => UNAVAILABLE);
  const { reported, reasons, failed } = await runCycle(sources, exporter);
  assert.ok(exporter.sent.length >= 4 && exporter.sent.length <= 7, `${exporter.sent.length} requests`);
  assert.equal(sources.filter(({ collections }) => collections > 0).length, exporter.sent.length);
  assert.equal(failed.length, 100);
  assert.equal(reported.filter((each) => each.endsWith('failure')).length, 100);
  assert.equal(reasons.get('s0'), 'nobody is at home');
  assert.match(reasons.get('s99') ?? '', /not tried.*nobody is at home/u);
});

test('a backend that is unavailable now and then is used further', async () => {
  const sources = sourcesOf(40);
  const exporter = new ScriptedExporter((request) =>
    Number(request.slice(1).split(' ')[0]) % 3 === 0 ? UNAVAILABLE : SUCCESS,
  );
  const { failed } = await runCycle(sources, exporter);
  assert.equal(exporter.sent.length, 40);
  assert.equal(failed.length, 14);
});

test('after its deadline nothing is collected or sent, and requests in flight count', async () => {
  const sources = sourcesOf(10, [1, 1]);
  let untilMs = Infinity;
  const exporter = new ScriptedExporter(async () => {
    await nextTurn();
    untilMs = 0;
    return SUCCESS;
  });
  const { reasons, failed } = await runCycle(sources, exporter, () => untilMs);
  assert.equal(exporter.sent.length, 4);
  assert.equal(failed.length, 10);
  assert.deepEqual(
    sources.map(({ reported }) => reported.includes('exported 0')),
    sources.map((_, index) => index < 4),
  );
  for (const reason of reasons.values()) assert.match(reason, /time .* is over/u);
});

test('a source that cannot be collected is an internal error and does not affect the others', async () => {
  const broken = new BrokenSource();
  const sources = [broken, ...sourcesOf(9), broken, broken, broken, broken];
  const { reported, defects, failed } = await runCycle(sources, new ScriptedExporter());
  assert.equal(reported.length, 9);
  assert.deepEqual(defects, Array(5).fill(['broken', broken.error]));
  assert.deepEqual(failed, ['broken'], 'once, however often it failed');
});

test('an exporter that throws is an internal error, and the source is retried', async () => {
  const error = new Error('that should not happen');
  const exporter = new ScriptedExporter(async () => {
    throw error;
  });
  const { defects, failed } = await runCycle(sourcesOf(1), exporter);
  assert.deepEqual([defects, failed], [[['s0', error]], ['s0']]);
});
