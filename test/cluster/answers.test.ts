/** What was asked of the broker: it is in the view as long as it is known, with its age. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrokerReading } from '../../src/broker/broker-reading.ts';
import { createCluster } from '../../src/cluster/cluster.ts';
import { atOnce } from './at-once.ts';
import { received, SETTINGS, sent, signal, started, T0_MS } from './events.ts';

const READING: BrokerReading = { queues: [{ queue: 'orders', length: 3 }], incomplete: [] };

test('an answer has an age until another one takes its place or it is gone', () => {
  const cluster = createCluster(SETTINGS, () => {});
  const broker = () => atOnce(cluster.view(() => ({ wallMs: T0_MS, listenedMs: 0 }))).broker;
  let ageMs = 0;
  assert.equal(broker(), undefined);
  cluster.answers.brokerKnows(READING, () => ageMs, 0);
  assert.deepEqual(broker(), { ...READING, ageMs: 0 });
  ageMs = 2500;
  assert.deepEqual(broker(), { ...READING, ageMs: 2500 });
  cluster.answers.brokerKnows({ queues: [], incomplete: [] }, () => 500, 0);
  assert.deepEqual(broker(), { queues: [], incomplete: [], ageMs: 500 });
  cluster.answers.brokerKnows(undefined, () => 0, 0);
  assert.equal(broker(), undefined);
});

test('the queues to ask for are those that events have named, without the unknown one, as long as they are used', () => {
  const cluster = createCluster(SETTINGS, () => {});
  cluster.apply(sent({ uuid: 'a', queue: 'mails' }), T0_MS, 0);
  cluster.apply(received({ uuid: 'b' }), T0_MS, 0);
  cluster.flush();
  assert.deepEqual(cluster.answers.knownQueues(0), ['mails']);
  assert.deepEqual(cluster.answers.knownQueues(SETTINGS.seriesRetentionMs + 1), []);
});

test('a worker that is up is known with the time at which it last received a task, whatever else it sends', () => {
  const cluster = createCluster(SETTINGS, () => {});
  const up = () => atOnce(cluster.answers.workersUp(6000)).map(({ receivedMs }) => receivedMs);
  cluster.apply(started({ uuid: 'a' }), T0_MS, 1000);
  assert.deepEqual(up(), [Number.NEGATIVE_INFINITY]);
  cluster.apply(received({ uuid: 'b', timestampMs: T0_MS + 4000 }), T0_MS + 4000, 5000);
  cluster.apply(started({ uuid: 'b', timestampMs: T0_MS + 5000 }), T0_MS + 5000, 6000);
  assert.deepEqual(up(), [5000]);
});

test('a worker without heartbeats stays up while it replies, unless two processes may have its name', () => {
  const cluster = createCluster(SETTINGS, () => {});
  const up = (listenedMs: number) => atOnce(cluster.answers.workersUp(listenedMs)).length;
  const { workerTimeoutMs } = SETTINGS;
  const { hostname } = started({ uuid: 'a' });
  const lives = (listenedMs: number) =>
    cluster.answers.workerLives(hostname, { wallMs: T0_MS + listenedMs, listenedMs });
  lives(0);
  assert.equal(up(0), 0, 'its process is not known');
  cluster.apply(started({ uuid: 'a' }), T0_MS, 0);
  lives(workerTimeoutMs);
  assert.equal(up(2 * workerTimeoutMs), 1);
  assert.equal(up(2 * workerTimeoutMs + 1), 0);
  lives(3 * workerTimeoutMs);
  assert.equal(up(3 * workerTimeoutMs), 1, 'again');
  cluster.apply(started({ uuid: 'b', pid: 8 }), T0_MS, 3 * workerTimeoutMs);
  lives(4 * workerTimeoutMs);
  assert.equal(up(4 * workerTimeoutMs + 1), 0, 'one of two');
  const beating = createCluster(SETTINGS, () => {});
  beating.apply(signal('worker-heartbeat', { softwareVersion: '5.5.3' }), T0_MS, 0);
  beating.flush();
  beating.answers.workerLives(hostname, { wallMs: T0_MS, listenedMs: 2 * workerTimeoutMs });
  assert.deepEqual(atOnce(beating.answers.workersUp(2 * workerTimeoutMs)), [], 'another may have its name');
});
