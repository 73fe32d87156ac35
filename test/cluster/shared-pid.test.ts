/** Replicas of a container that share a nodename and a pid: what cannot be told apart is not guessed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import {
  line,
  received,
  SETTINGS,
  signal,
  started,
  succeeded,
  T0_MS,
  type Watched,
  watch,
} from './events.ts';

const FREQ_S = 2;

interface Replica {
  /** Seconds from when on, and until when, it sends. */
  readonly from: number;
  readonly to: number;
  /** When its tasks begin; each takes a second. */
  readonly tasks?: readonly number[];
  /** Of its clock, s. */
  readonly fast?: number;
  /** It hears of no other worker, so its logical clock begins anew. */
  readonly isAlone?: boolean;
  readonly endsWith?: 'worker-offline';
}

/** The events of some processes with one nodename and one pid, in the order of their arrival. */
function eventsOf(replicas: readonly Replica[]): readonly (readonly [atS: number, CeleryEvent])[] {
  return replicas
    .flatMap(({ from, to, tasks = [], fast = 0, isAlone = false, endsWith }, index) => {
      const at = (atS: number, event: CeleryEvent) =>
        [
          atS,
          {
            ...event,
            pid: 1,
            timestampMs: T0_MS + (atS + fast) * 1000,
            clock: Math.round(10 * (atS - (isAlone ? from : 0))) + 1,
          },
        ] as const;
      const processed = (atS: number) => tasks.filter((begin) => begin <= atS).length;
      const beats = Array.from(
        { length: Math.floor((to - from) / FREQ_S) },
        (_, beat) => from + FREQ_S * (beat + 1),
      );
      return [
        at(from, signal('worker-online', { freqS: FREQ_S, processed: 0 })),
        ...beats.map((atS) =>
          at(atS, signal('worker-heartbeat', { freqS: FREQ_S, processed: processed(atS) })),
        ),
        ...tasks.flatMap((begin) => {
          const uuid = `u${index}-${begin}`;
          return [
            at(begin, received({ uuid })),
            at(begin + 0.01, started({ uuid })),
            at(begin + 1, succeeded({ uuid })),
          ];
        }),
        ...(endsWith === undefined
          ? []
          : [at(to, signal(endsWith, { freqS: FREQ_S, processed: processed(to) }))]),
      ];
    })
    .toSorted(([a], [b]) => a - b);
}

/** With a collection every second. */
function play(on: Watched, replicas: readonly Replica[], untilS: number): readonly string[] {
  const events = [...eventsOf(replicas)];
  for (let second = 0; second <= untilS; second += 1) {
    while ((events[0]?.[0] ?? Number.POSITIVE_INFINITY) <= second) {
      const [atS, event] = events.shift() ?? assert.fail();
      on.cluster.apply(event, T0_MS + atS * 1000);
    }
    on.cluster.collect(T0_MS + second * 1000);
  }
  return on.news().map(line);
}

const count = (lines: readonly string[], beginning: string) =>
  lines.filter((each) => each.startsWith(beginning)).length;
const endsOf = (lines: readonly string[]) => lines.filter((each) => /^(?:exited|returned)/u.test(each));
const lostEvents = (lines: readonly string[]) =>
  lines.filter((each) => each.startsWith('progressed') && !each.endsWith('lost 0'));

for (const [title, second] of [
  ['started together', { from: 0.3, fast: 0 }],
  ['half a heartbeat apart', { from: 1, fast: 0 }],
  ['at the same moment', { from: 0.001, fast: 0 }],
  ['with clocks a minute apart', { from: 1.1, fast: 60 }],
  ['one long after the other', { from: 40.7, fast: 0 }],
] as const) {
  test(`two replicas, ${title}: events are exact, and nothing is lost, exits or is missed`, () => {
    const tasks = [60, 61, 64, 80, 81, 90];
    const lines = play(
      watch(),
      [
        { from: 0, to: 300, tasks },
        { ...second, to: 300, tasks: [62, 63.5, 70, 80.5] },
      ],
      300,
    );
    for (const [kind, expected] of [
      ['received', 10],
      ['started', 10],
      ['succeeded', 10],
      ['lost', 0],
      ['exited', 0],
    ] as const)
      assert.equal(count(lines, kind), expected, `${kind}: ${lines.join('; ')}`);
    assert.deepEqual(lostEvents(lines), []);
  });
}

test('replicas that all say goodbye have left, and are not silent; one that goes on has not', () => {
  const untilS = 110 + SETTINGS.lostTimeoutMs / 1000;
  const both = [
    { from: 0, to: 100, endsWith: 'worker-offline' },
    { from: 1, to: 103, endsWith: 'worker-offline' },
  ] as const;
  const on = watch();
  assert.deepEqual(endsOf(play(on, both, untilS)), ['exited w1@shop goodbye']);
  assert.deepEqual(
    on.cluster.collect(T0_MS + untilS * 1000).workers.map(({ up, hasLeft }) => [up, hasLeft]),
    [[false, true]],
  );
  assert.deepEqual(endsOf(play(on, [{ from: untilS + 1, to: untilS + 20 }], untilS + 20)), [
    'returned w1@shop',
  ]);
  const one = play(watch(), [both[0], { from: 1, to: 2 * untilS }], 2 * untilS);
  assert.deepEqual(endsOf(one), []);
});

test('once only one is left, its restarts and losses count again', () => {
  const on = watch();
  play(
    on,
    [
      { from: 0, to: 100, tasks: [50], endsWith: 'worker-offline' },
      { from: 1, to: 300, tasks: [60, 298.5] },
    ],
    299,
  );
  const lines = play(on, [{ from: 304, to: 400, tasks: [330], isAlone: true }], 400);
  assert.equal(count(lines, 'exited'), 1, lines.join('; '));
});

test('a process that restarts again and again with one pid is not taken for two', () => {
  const loop = Array.from({ length: 20 }, (_, index) => ({
    from: 8 * index,
    to: 8 * index + 7,
    isAlone: true,
  }));
  const lines = play(watch(), loop, 200);
  assert.equal(count(lines, 'exited w1@shop restarted'), 19, lines.join('; '));
});

test('a backlog of the heartbeats of one process is not taken for two', () => {
  const on = watch();
  play(on, [{ from: 0, to: 20 }], 20);
  for (let beat = 0; beat < 30; beat += 1)
    on.cluster.apply(
      signal('worker-heartbeat', {
        ...{ freqS: FREQ_S, pid: 1, processed: 0, clock: 300 + beat },
        timestampMs: T0_MS + (22 + FREQ_S * beat) * 1000,
      }),
      T0_MS + 90_000,
    );
  const lines = play(on, [{ from: 100, to: 200, isAlone: true }], 200);
  assert.equal(count(lines, 'exited w1@shop restarted'), 1, lines.join('; '));
});
