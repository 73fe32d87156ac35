/** How soon RabbitMQ is listened to again after a restart. */
import { test } from 'node:test';
import { bound } from '../../bound.ts';
import { startRabbitmq } from '../../real/rabbitmq.ts';
import { listenTo } from './listen-to.ts';

const CONNECTED_MS_MAX = 5000;

test('after each broker restart it reconnects within seconds', async (t) => {
  const rabbitmq = await startRabbitmq();
  t.after(() => rabbitmq.remove());
  const { reported, connected } = listenTo(t, rabbitmq.url);
  await connected(1);
  for (const [restarts, end] of [rabbitmq.stop, rabbitmq.kill].entries()) {
    const before = reported.items.length;
    await end.call(rabbitmq);
    await reported.find((event) => event.kind === 'broker-session-ended', before);
    // It has not seen the broker yet.
    const early = listenTo(t, rabbitmq.url);
    await early.reported.find((event) => event.kind === 'broker-session-ended');
    await rabbitmq.start();
    const upMs = performance.now();
    await Promise.all([connected(restarts + 2), early.connected(1)]);
    const tookMs = performance.now() - upMs;
    bound(
      t,
      `reconnecting after RabbitMQ was ${restarts === 0 ? 'stopped' : 'killed'}`,
      tookMs,
      CONNECTED_MS_MAX,
      'ms',
    );
  }
});
