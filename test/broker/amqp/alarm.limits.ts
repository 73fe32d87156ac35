/** How long a stop takes while RabbitMQ has an alarm. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { startRabbitmq } from '../../real/rabbitmq.ts';
import { listenTold } from './listen-told.ts';

const STOP_MS_MAX = 10_000;

test('it stops quickly during an alarm', async (t) => {
  const rabbitmq = await startRabbitmq();
  t.after(() => rabbitmq.remove());
  await rabbitmq.ctl('set_vm_memory_high_watermark', '0.0000001');
  const { failures, stopping, ended } = await listenTold(t, rabbitmq.url);
  await failures.reaches(1);
  const asked = performance.now();
  stopping.abort();
  assert.deepEqual(await ended, { kind: 'stopped' });
  bound(t, 'stop during an alarm of RabbitMQ', performance.now() - asked, STOP_MS_MAX, 'ms');
});
