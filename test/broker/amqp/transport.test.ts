/**
 * The AMQP transport against a real RabbitMQ: what every transport must do, what it declares, and how it is refused.
 */

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { freePort } from '../../real/free-port.ts';
import { type RabbitMq, startRabbitmq } from '../../real/rabbitmq.ts';
import {
  HEARTBEAT,
  type SentMessage,
  type ServerUnderTest,
  testConformance,
  testServer,
} from '../conformance.ts';
import { Log } from '../log.ts';
import { addressOf, observeSession } from '../observed-session.ts';
import { startPublisher } from '../publisher.ts';
import { startRelay } from '../relay.ts';
import { amqpTransport } from './amqp-transport.ts';

let rabbitmq: RabbitMq;
let deadPort: number;
before(async () => {
  deadPort = await freePort();
  rabbitmq = await startRabbitmq();
});
after(() => rabbitmq.remove());

const MIB = 1024 * 1024;

const SUBJECT: ServerUnderTest = {
  create: () => amqpTransport({ eventExchange: 'events' }),
  absent: () => addressOf(`amqp://127.0.0.1:${deadPort}`),
  async open(t, messages) {
    const publisher = await startPublisher(t, rabbitmq.port);
    return {
      session: { url: addressOf(rabbitmq.url) },
      send: () => publisher.publish('events', messages),
    };
  },
  port: () => rabbitmq.port,
  at: (port) => addressOf(address({ port })),
  // Two heartbeats.
  impatient: () => amqpTransport({ eventExchange: 'events', heartbeatS: 3 }),
  patienceMs: 6000,
};
testConformance('AMQP', SUBJECT);
testServer('AMQP', SUBJECT);

/** A session at that address, on its own exchange. */
function session(t: TestContext, url: string, eventExchange = 'celeryev') {
  return observeSession(t, amqpTransport({ eventExchange }), { url: addressOf(url) });
}

/** The node’s address with another user, password or port. */
function address({ user = 'guest', password = 'guest', port = rabbitmq.port }): string {
  return `amqp://${user}:${password}@127.0.0.1:${port}/%2F`;
}

test('a missing exchange is declared exactly as Celery declares it', async (t) => {
  await session(t, rabbitmq.url, 'made-by-us').ready();
  const publisher = await startPublisher(t, rabbitmq.port);
  assert.ok(await publisher.declare('made-by-us', 'topic', { durable: true, autoDelete: false }));
  assert.equal(await publisher.declare('made-by-us', 'fanout', { durable: true, autoDelete: false }), false);
  assert.equal(await publisher.declare('made-by-us', 'topic', { durable: false, autoDelete: false }), false);
  assert.equal(await publisher.declare('made-by-us', 'topic', { durable: true, autoDelete: true }), false);
});

test('only the session that declared the exchange reports it', async (t) => {
  const happened = new Log<string>();
  for (const [number, expected] of [
    ['first', ['first made it', 'first is ready on made-once']],
    ['second', ['second is ready on made-once']],
  ] as const) {
    const from = happened.items.length;
    observeSession(t, amqpTransport({ eventExchange: 'made-once' }), {
      url: addressOf(rabbitmq.url),
      onExchangeDeclared: () => happened.add(`${number} made it`),
      ready: (exchange) => happened.add(`${number} is ready on ${exchange}`),
    });
    await happened.find((what) => what.includes('ready'), from);
    assert.deepEqual(happened.items.slice(from), expected);
  }
});

test('an existing exchange with other flags is used as it is', async (t) => {
  const publisher = await startPublisher(t, rabbitmq.port);
  await publisher.declare('made-by-others', 'fanout', { durable: false, autoDelete: true });
  const { ready, delivered } = session(t, rabbitmq.url, 'made-by-others');
  await ready();
  await publisher.publish('made-by-others', [HEARTBEAT]);
  const [message] = await delivered(1);
  assert.deepEqual(message?.body, HEARTBEAT.body);
});

test('our queue is exclusive, bounded and deleted with us, and our connection has our name', async (t) => {
  const { ready, stopping, ended } = session(t, `${rabbitmq.url}?heartbeat=17`);
  await ready();
  const fields = ['name', 'durable', 'auto_delete', 'exclusive', 'arguments'];
  const listed = await rabbitmq.ctl('list_queues', ...fields, '--formatter', 'json');
  const queues = JSON.parse(listed);
  assert.equal(queues.length, 1);
  assert.match(queues[0].name, /^celeryev\.celery-otel\.[0-9a-f-]{36}$/);
  const { name: _, arguments: queueArguments, ...flags } = queues[0];
  // Not durable but exclusive: RabbitMQ 4.3 denies queues that are neither.
  assert.deepEqual(flags, { durable: false, auto_delete: true, exclusive: true });
  assert.deepEqual(argumentsOf(queueArguments), {
    'x-max-length': 100_000,
    'x-max-length-bytes': 67_108_864,
    'x-message-ttl': 60_000,
  });
  const connections = await rabbitmq.ctl('list_connections', 'client_properties', 'timeout');
  assert.match(connections, /"product","celery-otel"\}/);
  assert.match(connections, /"version","\d+\.\d+\.\d+"\}/);
  assert.doesNotMatch(connections, /amqplib/);
  assert.match(connections, /\t17$/m, 'the heartbeat of the address');
  stopping.abort();
  await ended;
  assert.deepEqual(JSON.parse(await rabbitmq.ctl('list_queues', 'name', '--formatter', 'json')), []);
});

test('the broker limits our queue in bytes and drops the oldest messages', async (t) => {
  const relay = await startRelay(t, rabbitmq.port);
  const { ready, stopping, ended } = session(t, address({ port: relay.port }), 'unread');
  await ready();
  relay.stall();
  const publisher = await startPublisher(t, rabbitmq.port);
  const big: SentMessage = { ...HEARTBEAT, body: Buffer.alloc(4 * MIB) };
  // What the sockets buffer, and what RabbitMQ sends to a connection before it waits: 200 messages.
  await publisher.publish('unread', Array(4).fill(big));
  await publisher.publish('unread', Array(200).fill(HEARTBEAT));
  await publisher.publish('unread', Array(40).fill(big));
  const fields = ['message_bytes_ready', 'messages_ready'];
  const listed = await rabbitmq.ctl('list_queues', ...fields, '--formatter', 'json');
  assert.deepEqual(JSON.parse(listed), [{ message_bytes_ready: 64 * MIB, messages_ready: 16 }]);
  stopping.abort();
  await ended;
});

/** rabbitmqctl prints arguments as triples of name, type and value. */
function argumentsOf(triples: readonly (readonly [string, string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(triples.map(([name, , value]) => [name, value]));
}

async function endOf(t: TestContext, url: string, exchange?: string) {
  const { ended, log } = session(t, url, exchange);
  const end = await ended;
  assert.deepEqual(log.items, [], 'it never was ready');
  assert.ok('reason' in end);
  return end;
}

test('a wrong password is refused, and the reason does not contain it', async (t) => {
  const { kind, reason } = await endOf(t, address({ password: 'hunter2' }));
  assert.equal(kind, 'refused');
  assert.match(reason, /ACCESS_REFUSED/);
  assert.doesNotMatch(reason, /hunter2/);
});

test('without permission to declare the exchange, the error says what helps; an existing one needs few permissions', async (t) => {
  const exchange = 'celeryev-guarded';
  const own = '^celeryev\\..*';
  await rabbitmq.allow('monitor', 'secret', {
    configure: own,
    write: own,
    read: '^celeryev(-guarded|\\..*)$',
  });
  const url = address({ user: 'monitor', password: 'secret' });

  const { kind, reason } = await endOf(t, url, exchange);
  assert.equal(kind, 'refused');
  assert.match(reason, /no exchange "celeryev-guarded" yet.*start a Celery worker.*configure permission/);

  const publisher = await startPublisher(t, rabbitmq.port);
  await publisher.declare(exchange, 'topic', { durable: true, autoDelete: false });
  const { ready, delivered } = session(t, url, exchange);
  await ready();
  await publisher.publish(exchange, [HEARTBEAT]);
  assert.equal((await delivered(1)).length, 1);

  await publisher.declare('celeryev-forbidden', 'topic', { durable: true, autoDelete: false });
  const forbidden = await endOf(t, url, 'celeryev-forbidden');
  assert.equal(forbidden.kind, 'refused');
  assert.match(forbidden.reason, /ACCESS_REFUSED.*read on "celeryev-forbidden"/);
});

test('a subscription cancelled by the broker means a lost session', async (t) => {
  const { ready, ended } = session(t, rabbitmq.url);
  await ready();
  const queue = (await rabbitmq.ctl('list_queues', 'name', '--no-table-headers')).trim();
  await rabbitmq.ctl('delete_queue', queue);
  assert.deepEqual(await ended, {
    kind: 'lost',
    reason: 'the broker cancelled our subscription: the queue was deleted',
  });
});

test('a connection closed by the operator means a lost session, with his reason', async (t) => {
  const { ready, ended } = session(t, rabbitmq.url);
  await ready();
  await rabbitmq.ctl('close_all_connections', 'maintenance');
  const end = await ended;
  assert.ok(end.kind === 'lost');
  assert.match(end.reason, /CONNECTION_FORCED - maintenance/);
});
