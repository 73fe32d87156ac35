/** Asking as many workers as a cluster can have: that must not hold up the event loop. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { startInspecting } from '../../../src/service/inspection/inspection.ts';
import { newMemory } from '../../../src/service/inspection/inspection-options.ts';
import { createYieldToLoop } from '../../../src/timing/cooperative.ts';
import { bound } from '../../bound.ts';
import { message } from '../../celery/wire.ts';
import { signal, T0_MS, watch } from '../../cluster/events.ts';
import { longestTurnMs } from '../../longest-turn.ts';
import { leastMs } from '../../processor-time.ts';

const WORKERS = 10_000;
const PROCESSES_PER_WORKER = 8;
const QUEUES_PER_WORKER = 10;
const ROUNDS = 5;
/** In one request. */
const DESTINATION = 500;
const REPLIES_PER_TURN = 50;
const STATS = { pid: 1, pool: { 'max-concurrency': 4 } };
/** Some 90 ms if all workers are looked at in one turn. */
const TURN_MS_MAX = 40;

test(`no turn of the event loop is long while ${WORKERS} workers are asked`, async (t) => {
  const longestMs = await leastMs(TURN_MS_MAX, () => longestWhileAsked(t));
  bound(t, 'longest turn while 10,000 workers are asked', longestMs, TURN_MS_MAX, 'ms');
});

async function longestWhileAsked(t: TestContext): Promise<number> {
  const { cluster } = watch({ workersMax: WORKERS });
  const names = Array.from({ length: WORKERS }, (_, index) => `celery@pod-${index}`);
  for (let pid = 1; pid <= PROCESSES_PER_WORKER; pid += 1) {
    for (const hostname of names) cluster.apply(signal('worker-heartbeat', { hostname, pid }), T0_MS);
  }
  for (const [index, hostname] of names.entries()) {
    const queues = Array.from({ length: QUEUES_PER_WORKER }, (_, each) => `queue-${index}-${each}`);
    cluster.answers.consumes(hostname, queues, { wallMs: T0_MS, listenedMs: T0_MS });
  }
  /** By command. */
  const questions = new Map<string, number>();
  const fiveRounds = Promise.withResolvers<void>();
  const longestMs = await longestTurnMs(async () => {
    const stop = startInspecting(
      {
        receive: () => new Promise(() => {}),
        async ask({ command, destination, take }) {
          const rounds = questions.get('stats') ?? 0;
          if (rounds >= ROUNDS * (WORKERS / DESTINATION)) fiveRounds.resolve();
          questions.set(command, (questions.get(command) ?? 0) + 1);
          const [content] = command === 'ping' ? [{ ok: 'pong' }] : command === 'stats' ? [STATS] : [[]];
          for (const [index, name] of (destination ?? names).entries()) {
            // Replies come over a socket.
            if (index % REPLIES_PER_TURN === 0) await nextTurn();
            take(message(JSON.stringify({ [name]: content })));
          }
          return {
            receivers: undefined,
            taken: 0,
            untaken: { late: 0, tooLarge: 0, unreadable: 0, beyond: 0 },
          };
        },
      },
      {
        ...{ commands: ['stats', 'active'], enableEvents: false, timeoutMs: 500, namespace: 'celery' },
        ...{ intervalMs: 1, initialDelayMs: 0, random: () => 0 },
        ...{ redis: { owner: 'shop', separator: ':' }, answers: cluster.answers },
        ...{ now: () => ({ wallMs: T0_MS, listenedMs: T0_MS }), yieldToLoop: createYieldToLoop() },
        ...{
          memory: newMemory(),
          onReply: () => {},
          onSkipped: () => {},
          onDeaf: () => {},
          onAsked: () => {},
          onImplausible: () => {},
        },
      },
    );
    t.after(stop);
    await fiveRounds.promise;
  });
  t.diagnostic(`${longestMs} ms`);
  // They have not answered, so they are named in the second round.
  assert.ok((questions.get('active') ?? 0) >= WORKERS / DESTINATION, 'all are asked for their tasks');
  return longestMs;
}
