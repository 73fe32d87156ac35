/** How soon RabbitMQ is listened to again after a restart. */
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { startRabbitmq } from '../../real/rabbitmq.ts';
import { attend } from '../attended-service.ts';

const CONNECTED_MS_MAX = 5000;

test('after each broker restart it reconnects within seconds', async (t) => {
  const rabbitmq = await startRabbitmq();
  t.after(() => rabbitmq.remove());
  const { reported, connected } = attend(t, rabbitmq.url);
  await connected();
  for (const [how, end] of [
    ['stopped', rabbitmq.stop],
    ['killed', rabbitmq.kill],
  ] as const) {
    const before = reported.items.length;
    await end.call(rabbitmq);
    await reported.find(({ kind }) => kind === 'broker-session-ended', before);
    // It has not seen the broker yet.
    const early = attend(t, rabbitmq.url);
    await early.reported.find(({ kind }) => kind === 'broker-session-ended');
    await rabbitmq.start();
    const upMs = performance.now();
    await Promise.all([reported.find(({ kind }) => kind === 'broker-connected', before), early.connected()]);
    const tookMs = performance.now() - upMs;
    bound(t, `reconnecting after RabbitMQ was ${how}`, tookMs, CONNECTED_MS_MAX, 'ms');
  }
});
