/** What a service asks of its broker, and what it says of the answers. The questions to workers: test/inspection. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerReading, PollQuestion } from '../../src/broker/broker-reading.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import type { SelfEvent } from '../../src/self/self-event.ts';
import { servicePoller } from '../../src/service/polling.ts';
import { POLL_KEYS } from '../broker/poll-keys.ts';
import { SETTINGS, signal, T0_MS } from '../cluster/events.ts';
import { until } from '../until.ts';

/** Polls with a cluster in which a worker is heard of at 0 and, if it lives, just now. @returns what was polled and told */
async function polled(
  listenedMs: number,
  reading: Partial<BrokerReading> = {},
  workersMax = SETTINGS.workersMax,
) {
  const cluster = createCluster({ ...SETTINGS, workersMax }, () => {});
  for (const hostname of ['a@pod', 'b@pod'])
    cluster.apply(signal('worker-heartbeat', { hostname, timestampMs: T0_MS }), T0_MS, listenedMs);
  const reported: SelfEvent[] = [];
  const questions: PollQuestion[] = [];
  const begin = servicePoller(
    {
      ...{
        name: 'shop',
        taskDefaultQueue: 'celery',
        random: () => 0,
        report: (event) => void reported.push(event),
      },
      polls: { intervalMs: 1, initialDelayMs: 0, queues: [], parkedQueues: [], redis: POLL_KEYS },
      control: { commands: [], enableEvents: false, timeoutMs: 1, namespace: 'celery' },
      choice: { metrics: new Set(['celery.queue.length']), optIns: new Set() },
      yieldToLoop: async () => {},
    },
    cluster,
    () => ({ wallMs: T0_MS, listenedMs }),
  );
  const end = begin({
    receive: () => new Promise(() => {}),
    poll: async (question) => {
      questions.push(question);
      return { queues: [], incomplete: [], ...reading };
    },
  });
  await until('it polled twice', () => questions.length > 2);
  end();
  const fateOf = await questions[0]?.fates?.();
  return { reported, fates: ['b@pod', 'gone@pod'].map((nodename) => fateOf?.(nodename)) };
}

test('a worker is gone only if it has been silent for minutes, and none was forgotten', async () => {
  assert.deepEqual((await polled(5000)).fates, ['up', 'unknown']);
  assert.deepEqual((await polled(179_000)).fates, ['up', 'unknown']);
  assert.deepEqual((await polled(180_000)).fates, ['up', 'gone']);
  assert.deepEqual((await polled(180_000, {}, 1)).fates, ['up', 'unknown']);
});

test('a name that was left behind is reported once', async () => {
  const leftover = { member: '::a@pod.celery.pidbox', removal: 'SREM k m' };
  const { reported } = await polled(180_000, { leftovers: [leftover] });
  assert.deepEqual(
    reported.filter(({ kind }) => kind === 'name-left-behind'),
    [{ ...leftover, kind: 'name-left-behind', service: 'shop' }],
  );
});
