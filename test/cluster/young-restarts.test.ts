/** A container that restarts while it is young: its clock begins anew, and the first events of the new process overtake each other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CeleryEvent } from '../../src/celery/event.ts';
import { line, received, signal, started, succeeded, T0_MS, watch } from './events.ts';
import { heartbeats, report } from './stories.ts';

type At = readonly [atMs: number, event: CeleryEvent];

/** The first events of a process. */
function beginning(fromMs: number, uuid: string, stepsMs: readonly number[]): readonly At[] {
  const events = [
    signal('worker-online', { clock: 2 }),
    received({ uuid, clock: 3 }),
    started({ uuid, clock: 4 }),
    succeeded({ uuid, clock: 5 }),
  ];
  return events.map((event, at) => {
    const atMs = fromMs + (stepsMs[at] ?? 0);
    return [atMs, { ...event, timestampMs: T0_MS + atMs }];
  });
}

function orders(count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, at) => order.toSpliced(at, 0, count - 1)),
  );
}

/** The gaps between the first events, ms. */
const PACES: readonly [readonly number[], ...(readonly number[])[]] = [
  [0, 5, 10, 15],
  [0, 290, 300, 320],
  [0, 60, 120, 180],
];

interface Case {
  readonly bornMs: number;
  readonly isKilledWithTask: boolean;
  readonly beatsAfterwards: boolean;
}

/** What is counted if the events of the second process arrive in that order, ten milliseconds apart. */
function counted(
  { bornMs, isKilledWithTask, beatsAfterwards }: Case,
  order: readonly number[],
  pace: readonly number[],
) {
  const on = watch();
  for (const [atMs, event] of beginning(0, 'u1', [0, 290, 300, 320]).slice(0, isKilledWithTask ? 3 : 4))
    on.cluster.apply(event, T0_MS + atMs);
  const second = beginning(bornMs, 'u2', pace);
  for (const [place, at] of order.entries()) {
    const event = second[at]?.[1];
    const arrivedMs = T0_MS + bornMs + (pace[3] ?? 0) + 10 * (1 + place);
    if (event !== undefined) on.cluster.apply(event, arrivedMs);
  }
  const bornS = bornMs / 1000;
  for (let atS = 2; atS < 900; atS += 2) {
    if (beatsAfterwards) report(on, heartbeats(bornS + atS, bornS + atS, 0, { processed: 1, clock: 9 }));
    on.cluster.collect(T0_MS + bornMs + atS * 1000 + 1);
  }
  const kinds = [
    'task-received',
    'task-started',
    'task-succeeded',
    'task-lost',
    'loss-refuted',
    'worker-exited',
  ];
  const lines = on.observed.filter(({ kind }) => kinds.includes(kind)).map(line);
  return lines.toSorted().join(', ');
}

for (const bornMs of [1_500, 4_000, 10_000, 60_000]) {
  for (const isKilledWithTask of [false, true]) {
    for (const beatsAfterwards of [false, true]) {
      const it = { bornMs, isKilledWithTask, beatsAfterwards };
      test(`whatever their order, the first events of a restarted process count the same: ${JSON.stringify(it)}`, () => {
        // If the first process has not sent as many events, an end that overtakes the worker-online may be its own.
        const clear = orders(4).filter((order) => !isKilledWithTask || order.indexOf(0) < order.indexOf(3));
        const cases = PACES.flatMap((pace) => clear.map((order) => ({ pace, order })));
        const expected = counted(it, [0, 1, 2, 3], PACES[0]);
        const wrong = cases.flatMap(({ pace, order }) => {
          const actual = counted(it, order, pace);
          return actual === expected ? [] : [`${order.join('')} ${pace}: ${actual}`];
        });
        assert.deepEqual(wrong, []);
        const ends = expected.split(', ').filter((fact) => !/^(?:received|started)/u.test(fact));
        assert.deepEqual(ends, [
          'exited w1@shop restarted',
          ...(beatsAfterwards ? [] : ['exited w1@shop silence']),
          ...(isKilledWithTask ? ['lost shop.pay unknown w1@shop'] : []),
          ...Array.from(
            { length: isKilledWithTask ? 1 : 2 },
            () => 'succeeded shop.pay unknown w1@shop 0.25s',
          ),
        ]);
      });
    }
  }
}
