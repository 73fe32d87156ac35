/** `celery-otel top` of a live service: it sees what happens, asks workers nothing, and leaves nothing at the broker. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { top } from '../../src/cli/top.ts';
import { processIo } from '../cli/process-io.ts';
import { borrowRabbitmq, type Vhosts, vhostOf } from '../real/lent-rabbitmq.ts';
import { until } from '../until.ts';
import { openBrokerChannel } from './broker-channel.ts';
import { event, publish } from './publish.ts';

let rabbitmq: Vhosts;
before(async () => {
  rabbitmq = await borrowRabbitmq();
});
after(() => rabbitmq?.remove());

test('the events of a live service are shown, and the broker is left as it was', async () => {
  const { url } = rabbitmq;
  const vhost = vhostOf(url);
  const broker = await openBrokerChannel(url);
  await broker.channel.assertExchange('celeryev', 'topic', { durable: true });
  await broker.close();
  const before = await rabbitmq.names(vhost);
  const { io, stdout, send } = processIo({ CELERY_BROKER_URL: url, OTEL_SERVICE_NAME: 'shop' });
  const ended = top(['--interval', '0.5'], io);
  await until('it is connected', () => stdout().includes(', connected'), stdout);
  const uuid = 'cc0f0b80-92cf-4a2e-b7f4-c6ba97aa6ad9';
  const events = [
    event('worker-online'),
    event('worker-heartbeat', { active: 1, processed: 1, freq: 2 }),
    event('task-received', { uuid, name: 'shop.pay' }),
    event('task-started', { uuid }),
  ];
  await publish(url, events);
  await until(
    'its task',
    () => /^shop\.pay .* 1 /mu.test(stdout()) && /^w1@test +up /mu.test(stdout()),
    stdout,
  );
  const added = (await rabbitmq.names(vhost)).filter((name) => !before.includes(name));
  assert.equal(added.length, 1, 'the queue of its events, and none to ask or to be answered');
  const queues = await rabbitmq.ctl(
    'list_queues',
    '-p',
    vhost,
    '--silent',
    'name',
    'durable',
    'auto_delete',
    'exclusive',
  );
  assert.match(queues, /^\S+\tfalse\ttrue\t(?:true|false)\n?$/u);
  send('SIGTERM');
  assert.equal(await ended, 0);
  await until('its queue is gone', async () => (await rabbitmq.names(vhost)).join() === before.join());
  assert.match(stdout(), /^✓ Fine: .*\.$/mu);
});
