/** An address of the wrong kind of server, at a port that does not say so: what it is told to be. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explained } from '../../src/broker/likely-cause.ts';
import { createPeerText } from '../../src/text/peer-text.ts';
import { borrowRabbitmq } from '../real/lent-rabbitmq.ts';
import { startRedis } from '../real/redis.ts';
import { amqpTransport } from './amqp/amqp-transport.ts';
import { addressOf, observeSession } from './observed-session.ts';
import { redisTransport } from './redis/redis-transport.ts';
import { startRelay } from './relay.ts';

test('a Redis that has an AMQP address is named, with and without a password and TLS', async (t) => {
  const [open, closed] = await Promise.all([startRedis(), startRedis({ tls: 'server-only', password: 'x' })]);
  t.after(() => Promise.all([open.stop(), closed.stop()]));
  const secure = `amqps://localhost:${new URL(closed.tlsUrl ?? '').port}/?ssl_ca_certs=${closed.certificates?.caFile}`;
  for (const [text, scheme] of [
    [`amqp://127.0.0.1:${open.port}`, 'redis'],
    [`amqp://127.0.0.1:${closed.port}`, 'redis'],
    [secure, 'rediss'],
  ] as const) {
    const url = addressOf(text);
    // It waits for the end of a line, so any time would pass.
    const end = await observeSession(t, amqpTransport(), { url, connectTimeoutMs: 500 }).ended;
    assert.ok(end.kind === 'unreachable', JSON.stringify(end));
    const reported = new RegExp(`^\\S+:\\d+ is a Redis server: write ${scheme}://`, 'u');
    assert.match(explained(end.reason, url, false, createPeerText([])), reported);
  }
});

test('a RabbitMQ that hangs is not asked whether it is a Redis, once it has been one', async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const relay = await startRelay(t, rabbitmq.port);
  const url = addressOf(rabbitmq.url.replace(/:\d+\//u, `:${relay.port}/`));
  const transport = amqpTransport();
  const first = observeSession(t, transport, { url });
  await first.ready();
  relay.silence();
  const asked = relay.hasSent('PING').then(() => 'asked');
  const end = await observeSession(t, transport, { url, connectTimeoutMs: 500 }).ended;
  assert.ok(end.kind === 'unreachable' && end.reason === 'no reply within 500 ms', JSON.stringify(end));
  assert.equal(await Promise.race([asked, 'not asked']), 'not asked');
});

test('a RabbitMQ that has an address of Redis is named, with and without TLS', async (t) => {
  const rabbitmq = await borrowRabbitmq();
  t.after(() => rabbitmq.remove());
  const secure = `rediss://localhost:${new URL(rabbitmq.tlsUrl ?? '').port}/?ssl_ca_certs=${rabbitmq.caFile}`;
  for (const [text, scheme] of [
    [`redis://127.0.0.1:${rabbitmq.port}`, 'amqp'],
    [secure, 'amqps'],
  ] as const) {
    const url = addressOf(text);
    const end = await observeSession(t, redisTransport(), { url }).ended;
    assert.ok(end.kind === 'malformed', JSON.stringify(end));
    const reported = new RegExp(`^\\S+:\\d+ is a RabbitMQ server: write ${scheme}://`, 'u');
    assert.match(explained(end.reason, url, false, createPeerText([])), reported);
  }
});
