/** What a document costs the event loop, with a hundred services that all have problems. */
import { test } from 'node:test';
import { StatusBoard } from '../../src/health/status-board.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import type { ServiceState } from '../../src/service/service-state.ts';
import { bound } from '../bound.ts';

/** As the longest turns of events and exports may take. */
const TURN_MS_MAX = 50;
const SERVICES = 100;
const ROUNDS = 20;
const TABLE = { size: 5000, limit: 10_000, evicted: 0, bytes: 5, bytesMax: 100 };

function stateOf(name: string): ServiceState {
  return {
    name,
    phase: 'listening',
    events: { received: 1e9, perS: 8000, lagMs: 12 },
    workers: {
      known: 1000,
      up: 1000,
      deaf: 100,
      active: 500,
      gone: [],
      silent: [],
      silentCount: 0,
      leftCount: 0,
      quietS: 90,
    },
    queues: {
      ...{ polled: 500, waiting: 1e6, ageMs: 5, unconsumed: [], consumed: undefined },
      ...{ consumedCount: 0, expiring: 0 },
    },
    tables: { tasks: TABLE, workers: TABLE, reordering_window: TABLE, clock_skews: TABLE },
  };
}

test('a document of a hundred services is made within a turn', (t) => {
  const names = Array.from({ length: SERVICES }, (_, index) => `service ${index}`);
  const options = {
    services: names,
    self: 'celery-otel',
    readiness: 'once',
    exportIntervalMs: 1000,
    startedMs: 0,
  } as const;
  const board = new StatusBoard(options);
  for (const service of names) {
    board.note({ kind: 'broker-connected', service, broker: 'amqp://rabbit', attempts: 1 }, 0);
    for (let worker = 0; worker < 1000; worker += 1)
      board.note(
        { kind: 'worker-deaf', service, worker: `worker-${worker}@a-rather-long-name-of-a-host` },
        0,
      );
    const dropped: SelfEvent = {
      kind: 'input-dropped',
      service,
      reason: 'too-large',
      intentional: false,
      detail: 'x',
    };
    board.note(dropped, 0);
  }
  const services = names.map(stateOf);
  const process = { version: '1', pid: 1, uptime_s: 1, cpu_s: 1, memory_bytes: 1 };
  let worstMs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    JSON.stringify(board.document({ nowMs: 1, time: new Date(0), services, process }));
    worstMs = Math.max(worstMs, performance.now() - begun);
  }
  bound(t, 'the status of a hundred services', worstMs, TURN_MS_MAX, 'ms');
});
