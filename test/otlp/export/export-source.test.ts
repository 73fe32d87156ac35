import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportSource } from '../../../src/otlp/export/export-source.ts';
import type { Stop } from '../../../src/otlp/export/send-requests.ts';
import type { ExportResult } from '../../../src/otlp/send/exporter.ts';
import { FakeSource, REFUSED, ScriptedExporter, SUCCESS, UNAVAILABLE } from './scripted-exporter.ts';

const allow = (): undefined => undefined;
const stop = (reason: string): Stop => ({ kind: 'given-up', reason });
const partial = (rejectedItems: number, message: string): ExportResult => ({
  kind: 'partial',
  rejectedItems,
  message,
});

interface Case {
  readonly what: string;
  /** To each request, of which the first has 1 point, the second 2, the third 4 … */
  readonly answers: readonly ExportResult[];
  readonly outcome: 'success' | 'partial' | 'failure';
  readonly items: number;
  readonly rejectedItems: number;
  readonly reason: string;
  readonly unavailable: boolean;
  /** Which requests were sent, and which of them are settled; a part is answered as its whole. */
  readonly sent: readonly string[];
  readonly settled: readonly string[];
}

const WELL = { rejectedItems: 0, reason: '', unavailable: false };

const CASES: readonly Case[] = [
  {
    ...{ what: 'all arrive', answers: [SUCCESS, SUCCESS, SUCCESS], outcome: 'success', ...WELL },
    ...{ items: 7, sent: ['0', '1', '2'], settled: ['0', '1', '2'] },
  },
  {
    what: 'some items will never be taken',
    answers: [partial(1, 'a bad name'), SUCCESS, partial(2, 'another bad name')],
    ...{ outcome: 'partial', items: 7, rejectedItems: 3, reason: 'a bad name', unavailable: false },
    ...{ sent: ['0', '1', '2'], settled: ['0', '1', '2'] },
  },
  {
    what: 'more are said to be rejected than there were',
    answers: [partial(999_999, 'a bad name'), SUCCESS],
    ...{ outcome: 'partial', items: 3, rejectedItems: 1, reason: 'a bad name', unavailable: false },
    ...{ sent: ['0', '1'], settled: ['0', '1'] },
  },
  {
    what: 'one of them is refused, and its parts too',
    answers: [SUCCESS, REFUSED, SUCCESS],
    ...{ outcome: 'failure', items: 5, rejectedItems: 0, reason: 'not like that', unavailable: false },
    ...{ sent: ['0', '1', '2', '1/0', '1/1'], settled: ['0', '2'] },
  },
  {
    what: 'several are refused, and the first is reported',
    answers: [REFUSED, { kind: 'refused', reason: 'nor like that' }, partial(1, 'a bad name')],
    ...{ outcome: 'failure', items: 4, rejectedItems: 1, unavailable: false },
    reason: 'not like that; before that: a bad name',
    ...{ sent: ['0', '1', '2', '1/0', '1/1'], settled: ['2'] },
  },
  {
    what: 'the backend is unavailable from the second on',
    answers: [SUCCESS, UNAVAILABLE, SUCCESS],
    ...{ outcome: 'failure', items: 1, rejectedItems: 0, reason: 'nobody is at home', unavailable: true },
    ...{ sent: ['0', '1'], settled: ['0'] },
  },
  {
    what: 'one is refused, and then the backend is unavailable',
    answers: [REFUSED, UNAVAILABLE, SUCCESS],
    ...{ outcome: 'failure', items: 0, rejectedItems: 0, reason: 'not like that', unavailable: true },
    ...{ sent: ['0', '1'], settled: [] },
  },
];

const settledOf = (source: FakeSource): readonly string[] =>
  source.reported
    .filter((reported) => reported.startsWith('exported '))
    .map((reported) => reported.slice('exported '.length));

for (const { what, answers, sent, settled, unavailable, ...expected } of CASES) {
  test(`${what}: it is reported, and points that arrived are settled`, async () => {
    const source = new FakeSource(
      'shop',
      answers.map((_, index) => 2 ** index),
    );
    const wholeOf = (request: string): number => Number.parseInt(request.slice('shop '.length), 10);
    const exporter = new ScriptedExporter((request) => answers[wholeOf(request)] ?? SUCCESS);
    const found = await exportSource(source, { exporter, mustStop: allow });
    assert.ok(found.outcome);
    const { durationMs, waitedMs, ...outcome } = found.outcome;
    assert.deepEqual(outcome, expected);
    assert.ok(durationMs >= 0 && waitedMs >= 0);
    assert.equal(found.unavailable, unavailable);
    assert.deepEqual(
      exporter.sent,
      sent.map((request) => `shop ${request}`),
    );
    assert.deepEqual(settledOf(source), settled);
  });
}

test('each request is built after the response to the one before, and settled before the next', async () => {
  const source = new FakeSource('shop', [1, 1]);
  const exporter = new ScriptedExporter(async () => SUCCESS);
  await exportSource(source, { exporter, mustStop: allow });
  assert.deepEqual(source.reported, ['built 0', 'exported 0', 'built 1', 'exported 1']);
  assert.equal(exporter.mostAtOnce, 1);
});

test('a source that must not be exported is not collected', async () => {
  const source = new FakeSource('shop');
  const exporter = new ScriptedExporter();
  const { outcome, unavailable } = await exportSource(source, { exporter, mustStop: () => stop('not now') });
  assert.deepEqual([outcome?.outcome, outcome?.reason, unavailable], ['failure', 'not now', false]);
  assert.equal(source.collections, 0);
  assert.deepEqual([exporter.sent, source.reported], [[], []]);
});

test('a deadline after the last request is no failure', async () => {
  const source = new FakeSource('shop', [1]);
  const exporter = new ScriptedExporter();
  const { outcome } = await exportSource(source, {
    exporter,
    mustStop: () => (exporter.sent.length === 0 ? undefined : stop('over')),
  });
  assert.equal(outcome?.outcome, 'success');
});

test('a stop before anything arrived has no outcome, a later one that of the points that arrived', async () => {
  for (const [answers, expected] of [
    [[], undefined],
    [[SUCCESS], ['success', 1, 0]],
    [[partial(1, 'a bad name')], ['partial', 1, 1]],
    [[REFUSED], ['failure', 0, 0]],
  ] as const) {
    const exporter = new ScriptedExporter(() => answers[exporter.sent.length - 1] ?? SUCCESS);
    const { outcome } = await exportSource(new FakeSource('shop', [1, 1]), {
      exporter,
      mustStop: () =>
        exporter.sent.length < answers.length ? undefined : { kind: 'stopped', reason: 'stopped' },
    });
    assert.deepEqual(outcome && [outcome.outcome, outcome.items, outcome.rejectedItems], expected);
  }
});
