/** A trace as a tree for a terminal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceTree } from '../../src/cli/trace-tree.ts';
import type { Attributes, Span } from '../../src/tracer/span.ts';

const TRACE = '90817c7f6c284fe5aa467adb16d15d7d';
const T0_MS = 1_795_311_503_000;
const SIZE = { columns: 120, rowsMax: 100 };

function span(
  kind: Span['kind'],
  [spanId, parentSpanId]: readonly [string, string],
  [startMs, endMs]: readonly [number, number],
  task: string,
  attributes: Attributes = {},
  error?: Span['error'],
): Span {
  return {
    ...{
      name: `${kind === 'producer' ? 'send' : 'process'} ${task}`,
      kind,
      traceId: TRACE,
      spanId,
      parentSpanId,
    },
    ...{
      isParentRemote: false,
      flags: 3,
      traceState: 'ot=th:0',
      startMs: T0_MS + startMs,
      endMs: T0_MS + endMs,
    },
    shared: { 'celery.task.name': task, ...(kind === 'consumer' ? { 'celery.worker.name': 'w1@shop' } : {}) },
    ...{ error, attributes, links: [], events: [] },
  };
}

const CHAIN: readonly Span[] = [
  span('consumer', ['d', 'c'], [249, 281], 'shop.ship', {
    ...{ 'celery.task.outcome': 'retried', 'error.type': 'ConnectionError' },
  }),
  span('consumer', ['e', 'c'], [474, 503], 'shop.ship', {
    ...{ 'celery.task.outcome': 'succeeded', 'celery.task.retries': 1 },
  }),
  span('producer', ['a', ''], [0, 0], 'shop.charge'),
  span('consumer', ['b', 'a'], [18, 107], 'shop.charge', { 'celery.task.outcome': 'succeeded' }),
  span('producer', ['c', 'b'], [95, 95], 'shop.ship'),
  span('producer', ['f', 'e'], [496, 496], 'shop.invoice'),
  span(
    'consumer',
    ['g', 'f'],
    [505, 538],
    'shop.invoice',
    { 'celery.task.outcome': 'failed', 'error.type': 'ValueError' },
    { description: 'no address for order 17' },
  ),
];

test('a chain with a retry and a failure', () => {
  assert.equal(
    traceTree(CHAIN, SIZE),
    [
      'trace 90817c7f6c284fe5aa467adb16d15d7d  4 task runs  538 ms  1 failed',
      'shop.charge      ░███████                                 89 ms  succeeded  w1@shop',
      '└ shop.ship             ░░░░░░░░░░░░██                    32 ms  retried: ConnectionError  w1@shop',
      '└ shop.ship                                         ██    29 ms  succeeded, retry 1  w1@shop',
      '  └ shop.invoice                                      ░██ 33 ms  failed: ValueError: no address for order 17  w1@shop',
    ].join('\n'),
  );
});

test('a sending without a run, a child before its parent, and parents that are not there', () => {
  const lines = traceTree(
    [
      span('consumer', ['b', 'gone'], [5, 9], 'shop.second', {
        'celery.task.outcome': 'lost',
        'error.type': 'lost',
      }),
      span('producer', ['a', 'b'], [0, 0], 'shop.first'),
    ],
    SIZE,
  ).split('\n');
  assert.match(lines[1] ?? '', /^shop\.second .* 4\.0 ms {2}lost {2}w1@shop$/u);
  assert.match(lines[2] ?? '', /^└ shop\.first .* 0\.0 ms {2}sent, no run$/u);
});

test('parents in a circle and a very long chain are drawn, each run once; lines are bounded', () => {
  const circle = [
    span('consumer', ['a', 'b'], [0, 1], 'shop.a'),
    span('consumer', ['b', 'a'], [1, 2], 'shop.b'),
    span('consumer', ['c', 'c'], [1, 2], 'shop.c'),
  ];
  assert.equal(traceTree(circle, SIZE).split('\n').length, 4);
  const chain = Array.from({ length: 30_000 }, (_, index) =>
    span('consumer', [`s${index}`, `s${index - 1}`], [index, index + 1], 'shop.next'),
  );
  const lines = traceTree(chain, SIZE).split('\n');
  assert.equal(lines.length, 102);
  assert.equal(lines.at(-1), '… and 29900 more');
});

test('hostile names neither control the terminal nor break the line', () => {
  const name = `\u001b[2J\n${'x'.repeat(500)}`;
  const attributes = { 'celery.task.outcome': '\u202e', 'celery.worker.name': `${name}@shop` };
  const text = traceTree([span('consumer', ['a', ''], [0, 1], name, attributes)], SIZE);
  assert.ok(!text.includes('\u001b') && !text.includes('\u202e'));
  assert.equal(text.split('\n').length, 2);
  assert.ok((text.split('\n')[1] ?? '').length < 250);
});
